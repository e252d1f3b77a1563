#!/bin/sh
# backup.sh FOLDER [DAYS] [DATABASE]: dumps the database to a file of the folder, and removes the dumps that are older than DAYS (14).
# The variables of PostgreSQL (PGHOST, PGUSER, PGPASSWORD, …) say where it is, and which role reads it: the owner of the tables is enough.
set -eu
folder=$1
days=${2:-14}
database=${3:-pets}
umask 077

file=$folder/$database-$(date -u +%Y-%m-%dT%H-%M-%SZ).dump
pg_dump --format=custom --file="$file.part" "$database"
# Reads all of it. An incomplete dump keeps the name `.part`, and the old ones stay.
pg_restore --file=/dev/null "$file.part"
mv "$file.part" "$file"
find "$folder" -name "$database-*.dump*" -mtime "+$days" -delete
