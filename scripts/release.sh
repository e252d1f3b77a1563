#!/bin/sh
# Replaces the replicas of docker-compose.yml with a new release. No request fails. The script migrates, starts the new replicas in
# addition to the old ones, waits until they are healthy, then stops the old ones. If the migration fails or a new replica does not
# become healthy, the script removes the new replicas, and the old release keeps running.
set -eu
cd "$(dirname "$0")/.."

# The load balancer needs this long at most to find a new replica (DNS, then one health check).
FOUND_AFTER_SECONDS=5

# The image reports the commit that it is built from.
COMMIT=$(git log -1 --format=%H 2>/dev/null || true)
COMMIT_DATE=$(git log -1 --format=%cI 2>/dev/null || true)
export COMMIT COMMIT_DATE

# Only one of them has an effect: the first if the service has `build:`, the second if its `image:` is in a registry.
docker compose build api
docker compose pull --quiet --ignore-buildable api

old=$(docker compose ps --quiet api)
count=$(printf '%s' "$old" | grep -c . || true)
if [ "$count" -eq 0 ]; then
  exec docker compose up --detach --wait
fi
if [ "$count" -gt 5 ]; then
  echo 'The load balancer finds at most ten replicas, so at most five can be replaced at once.' >&2
  exit 1
fi

docker compose run --rm --no-deps pets db migrate

new_replicas() { docker compose ps --all --quiet api | grep -vxF "$old" || true; }

echo "Starting $count new replicas."
if ! docker compose up --detach --no-deps --no-recreate --wait --wait-timeout 120 --scale "api=$((count * 2))" api; then
  echo 'The new release does not start. Its last log lines:' >&2
  for replica in $(new_replicas); do docker logs --tail 5 "$replica" >&2; done
  docker rm --force --volumes $(new_replicas) >/dev/null
  echo 'The new replicas were removed. The old release keeps running.' >&2
  exit 1
fi
sleep "$FOUND_AFTER_SECONDS"

echo "Stopping $count old replicas."
for replica in $old; do
  docker stop "$replica" >/dev/null
  docker rm "$replica" >/dev/null
done
docker compose ps api
