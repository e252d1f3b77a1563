# The service for production: DATABASE_URL is required, for the embedded database is not part of the image.

FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY scripts/build-if-stale.mjs scripts/compile.mjs scripts/bundle.mjs scripts/
COPY src src
RUN npm run build

FROM node:22-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# The optional packages are the embedded database's binaries.
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund \
    # Half of what packages bring is for debuggers and compilers.
    && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete

FROM node:22-bookworm-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    SHUTDOWN_DELAY_SECONDS=5
WORKDIR /app
# What operators run: docker exec CONTAINER pets keys list
RUN printf '#!/bin/sh\nexec node /app/dist/bundle/cli.js "$@"\n' > /usr/local/bin/pets \
    && chmod 755 /usr/local/bin/pets
COPY package.json ./
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
# Root owns the files: the service cannot change itself.
USER node
EXPOSE 3000 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# No shell and no npm in between: SIGTERM reaches the service itself.
CMD ["node", "dist/bundle/main.js"]
