import type { PlanTable } from './plan-limits.js';

/** The names and the folders of the product. */
export interface Product {
  /** In the folder that programs of the embedded database may share. */
  readonly name: string;
  /** The title of the OpenAPI description. */
  readonly title: string;
  /** The first sentences of the OpenAPI description. */
  readonly summary: string;
  /** The version of the API. That of the service is in package.json. */
  readonly apiVersion: string;
  /** Letters, digits and `_`. API keys that were issued with another prefix become invalid. */
  readonly keyPrefix: string;
  /** In the header `WWW-Authenticate`. */
  readonly realm: string;
  /** The command for operators. The image installs it: change it in Dockerfile as well. */
  readonly command: string;
  /** The embedded database and its user, and the name of connections in pg_stat_activity. */
  readonly database: string;
  /** The start of the names of metrics. */
  readonly metricsPrefix: string;
  /** The default of REDIS_PREFIX. */
  readonly redisPrefix: string;
  /** The path of the folder with package.json, which has the version of the service, `.env` and `.git`. */
  readonly folder: string;
  /** The path of the folder with the code that runs. The folders `migrations` in it are searched. */
  readonly codeFolder: string;
}

/** The parts of the store that are not in the environment. The root passes them to the platform. */
export interface StoreOptions {
  readonly product: Product;
  readonly plans: PlanTable;
}
