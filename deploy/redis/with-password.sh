#!/bin/sh
# Runs a command such as redis-server with a generated password. The first start stores the address in the working directory of the
# image, which is the volume. The service reads it there. Nobody needs to know or set a password.
set -eu
umask 077
if [ ! -s url ]; then
  echo "redis://default:$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')@redis:6379" >url.new
  # The service runs as another user.
  chmod 644 url.new
  mv url.new url
fi
password=$(sed 's|^redis://default:\(.*\)@.*$|\1|' url)
exec "$@" --requirepass "$password"
