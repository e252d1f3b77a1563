import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';

/** A service of docker-compose.yml, as far as tests look at it. */
export interface ComposeService {
  image?: string;
  build?: string;
  command?: string[];
  environment?: Record<string, string | number>;
  ports?: string[];
  volumes?: string[];
  depends_on?: Record<string, unknown>;
  healthcheck?: { test: string[] };
  profiles?: string[];
  deploy: { replicas?: number; resources: { limits: Record<string, string> } };
  stop_grace_period?: string;
}

interface ComposeFile {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
}

/** Reads a file of the repository. */
export function readProjectFile(path: string): string {
  return readFileSync(join(__dirname, '../..', path), 'utf8');
}

/** Reads docker-compose.yml as Compose does when no variable is set: `${NAME:-default}` is its default. */
export function readComposeFile(): ComposeFile {
  const text = readProjectFile('docker-compose.yml');
  return load(text.replaceAll(/\$\{\w+:-(.*?)\}/g, '$1')) as ComposeFile;
}
