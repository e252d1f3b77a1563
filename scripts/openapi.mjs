// @ts-check
// Writes openapi.yaml, the interface description that the code generates.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const { openapiFile } = await import('#dist/platform/openapi-file.js');
const { AppModule } = await import('#dist/app.module.js');
writeFileSync(
  fileURLToPath(new URL('../openapi.yaml', import.meta.url)),
  await openapiFile([AppModule]),
);
