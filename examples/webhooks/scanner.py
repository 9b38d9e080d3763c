"""Images must have passed a scanner, which is another service: it is asked about all of them at once, over kept connections."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

import kadmit

SCANNER = os.environ.get("SCANNER", "http://scanner.security.svc/verdict")
session: aiohttp.ClientSession


@asynccontextmanager
async def connected() -> AsyncIterator[None]:
    global session
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=3)) as session:
        yield


app = kadmit.App("scanner.example.com", lifespan=connected)


@app.validating("pods", operations="CREATE", failure_policy="Ignore", timeout=5)
async def scanned(request: kadmit.Request, pod: kadmit.Object) -> None:
    images = sorted({container["image"] for container in pod["spec"]["containers"]})
    for image, problems in zip(images, await asyncio.gather(*map(problems_of, images)), strict=True):
        if problems:
            raise kadmit.Deny(f"image {image} has {problems} known problems")


async def problems_of(image: str) -> int:
    async with session.get(SCANNER, params={"image": image}, raise_for_status=True) as response:
        return int((await response.json())["problems"])
