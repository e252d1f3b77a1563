#!/bin/sh
# The PostgreSQL image runs this script once, when its volume is empty, after roles.sql. The script gives both roles generated
# passwords and stores their addresses in the volume, each in a folder of its own, so that a container can mount the address of one
# role without the other. Nobody needs to know or set a password.
(
  set -eu
  folder=${ADDRESSES_FOLDER:-/var/lib/postgresql/addresses}
  run_sql() { psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname="$POSTGRES_DB"; }

  for role in pets_owner pets_service; do
    password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
    echo "ALTER ROLE $role PASSWORD '$password'" | run_sql
    mkdir -p "$folder/$role"
    echo "postgres://$role:$password@postgres:5432/$POSTGRES_DB" >"$folder/$role/url"
  done
  # The service runs as another user.
  chmod -R a+rX "$folder"
  # Without a password, the superuser can connect only from inside the container.
  echo "ALTER ROLE \"$POSTGRES_USER\" PASSWORD NULL" | run_sql
)
