"""What the API says about itself and how it shows objects: discovery, OpenAPI, media types, tables, list options. All pure."""
