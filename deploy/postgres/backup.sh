#!/bin/sh
# backup.sh FOLDER [DAYS] [DATABASE]: dumps the database to a file of the folder, and removes the dumps that are older than DAYS (14).
# The variables of PostgreSQL (PGHOST, PGUSER, PGPASSWORD, …) say where it is, and which role reads it: the owner of the tables is enough.
#
#   RUN_IN           a command that runs the programs of PostgreSQL in a container: RUN_IN='docker compose exec -T postgres'
#   METRICS_FILE     a file for the metrics of the alerts BackupOld and DatabaseDiskLow, also after a failed backup
#   DATABASE_FOLDER  a folder on the disk of the database (/var/lib/postgresql). If it does not exist, the disk has no metrics.
set -eu
folder=$1
days=${2:-14}
database=${3:-pets}
umask 077

write_metrics() {
  newest=$(find "$folder" -name "$database-*.dump" -exec stat -c '%Y %s' {} + | sort -n | tail -n 1)
  disk=$(${RUN_IN:-} df -P -k "${DATABASE_FOLDER:-/var/lib/postgresql}" 2>/dev/null </dev/null | tail -n 1) || disk=
  printf '%s\n' "${newest:-0 0}" "$disk" | awk '
    function gauge(name, value) { printf "# TYPE %s gauge\n%s %.0f\n", name, name, value }
    NR == 1 { gauge("pets_backup_timestamp_seconds", $1); gauge("pets_backup_size_bytes", $2) }
    NR == 2 && NF { gauge("pets_database_disk_size_bytes", $2 * 1024); gauge("pets_database_disk_free_bytes", $4 * 1024) }
  ' >"$METRICS_FILE.part"
  # Prometheus reads it as another user, and never a part of it.
  chmod 644 "$METRICS_FILE.part"
  mv "$METRICS_FILE.part" "$METRICS_FILE"
}
[ -z "${METRICS_FILE:-}" ] || trap write_metrics EXIT

file=$folder/$database-$(date -u +%Y-%m-%dT%H-%M-%SZ).dump
${RUN_IN:-} pg_dump --format=custom "$database" >"$file.part" </dev/null
# Reads all of it. An incomplete dump keeps the name `.part`, and the old ones stay.
${RUN_IN:-} pg_restore --file=/dev/null <"$file.part"
mv "$file.part" "$file"
find "$folder" -name "$database-*.dump*" -mtime "+$days" -delete
