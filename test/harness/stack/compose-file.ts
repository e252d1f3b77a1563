import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';

/** A mount of a part of a volume. */
export interface VolumePart {
  type: 'volume';
  source: string;
  target: string;
  read_only: boolean;
  volume: { subpath: string };
}

/** The properties of a service in docker-compose.yml that tests use. */
export interface ComposeService {
  image?: string;
  build?: string;
  user?: string;
  entrypoint?: string[];
  command?: string[];
  environment?: Record<string, string | number>;
  ports?: string[];
  networks: string[];
  read_only?: boolean;
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
  tmpfs?: string[];
  volumes?: (string | VolumePart)[];
  depends_on?: Record<string, unknown>;
  healthcheck?: { test?: string[]; disable?: boolean };
  profiles?: string[];
  deploy: { replicas?: number; resources: { limits: Record<string, string | number> } };
  restart: string;
  stop_grace_period?: string;
}

interface ComposeFile {
  services: Record<string, ComposeService>;
  networks: Record<string, { internal?: boolean } | null>;
  volumes: Record<string, unknown>;
}

/** Reads a file of the repository. */
export function readProjectFile(path: string): string {
  return readFileSync(join(__dirname, '../../..', path), 'utf8');
}

/**
 * Reads docker-compose.yml as Compose does with these variables and no others: `${NAME:-text}` is
 * the text when the variable is unset, `${NAME:+text}` is the text when it is set.
 */
export function readComposeFile(variables: Record<string, string> = {}): ComposeFile {
  const text = readProjectFile('docker-compose.yml').replaceAll(
    /\$\{(\w+):([-+])(.*?)\}/g,
    (_, name: string, operator: string, alternative: string) => {
      const value = variables[name] ?? '';
      if (operator === '+') return value && alternative;
      return value || alternative;
    },
  );
  return load(text, { schema: CORE_SCHEMA.withTags(mergeTag) }) as ComposeFile;
}
