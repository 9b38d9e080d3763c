"""Images must have passed a scanner, which is another service: it is asked about all of them at once, over kept connections."""

import asyncio
import os
from typing import Any

import aiohttp
import kopf

SCANNER = os.environ.get("SCANNER", "http://scanner.security.svc/verdict")
session: aiohttp.ClientSession


@kopf.on.startup()
async def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    global session
    session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=3))
    settings.admission.server = kopf.WebhookAutoServer()
    settings.admission.managed = "scanner.example.com"


@kopf.on.cleanup()
async def disconnect(**_: Any) -> None:
    await session.close()


@kopf.on.validate("pods", operations=["CREATE"], ignore_failures=True)
async def scanned(spec: kopf.Spec, **_: Any) -> None:
    images = sorted({container["image"] for container in spec["containers"]})
    for image, problems in zip(images, await asyncio.gather(*map(problems_of, images)), strict=True):
        if problems:
            raise kopf.AdmissionError(f"image {image} has {problems} known problems", code=403)


async def problems_of(image: str) -> int:
    async with session.get(SCANNER, params={"image": image}, raise_for_status=True) as response:
        return int((await response.json())["problems"])
