# The production image of the service. It needs DATABASE_URL, because it does not contain the embedded database.

FROM node:24-bookworm-slim AS build
# npm and the build do not run as root. Install scripts of packages do not run.
WORKDIR /app
RUN chown node:node /app
USER node
COPY --chown=node:node package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY --chown=node:node .swcrc nest-cli.json tsconfig.json tsconfig.build.json ./
COPY --chown=node:node src src
RUN npm run typecheck && npm run build

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
RUN chown node:node /app
USER node
COPY --chown=node:node package.json package-lock.json ./
# The optional packages are the binaries of the embedded database.
RUN npm ci --ignore-scripts --omit=dev --omit=optional --no-audit --no-fund \
    # Half of the files in packages are only for debuggers and compilers.
    && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete

FROM node:24-bookworm-slim
# The commit that is built, for the log, the metrics and `pets --version`.
ARG COMMIT
ARG COMMIT_DATE
ENV NODE_ENV=production \
    COMMIT=${COMMIT} \
    COMMIT_DATE=${COMMIT_DATE} \
    HOST=0.0.0.0 \
    SHUTDOWN_DELAY_SECONDS=5
WORKDIR /app
# For operators: docker run --init --rm … IMAGE pets keys list
RUN printf '#!/bin/sh\nexec node /app/dist/cli/main.js "$@"\n' > /usr/local/bin/pets \
    && chmod 755 /usr/local/bin/pets
# Root owns the files: the service cannot change itself.
COPY package.json ./
COPY --from=dependencies --chown=root:root /app/node_modules node_modules
COPY --from=build --chown=root:root /app/dist dist
USER node
EXPOSE 3000 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    # With `agent: false`, NODE_USE_ENV_PROXY has no effect.
    CMD ["node", "-e", "require('http').get({ host: '127.0.0.1', port: process.env.PORT || 3000, path: '/health/live', agent: false }, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
# Without a shell or npm in between, so that the service receives SIGTERM. Start containers with an init (`docker run --init`): a process
# with id 1 gets no signal until it has set a handler for it.
CMD ["node", "dist/main.js"]
