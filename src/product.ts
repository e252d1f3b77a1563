/**
 * The names of the product. A team changes them here and in package.json. docs/upgrade.md lists what
 * cannot read this file.
 */
export const PRODUCT = {
  /** In traces, and in the folder that programs of the embedded database may share. */
  name: 'animal-adoption-store',
  /** The title of the interface description. */
  title: 'Animal Adoption Store Service',
  /** The first sentences of the interface description. */
  summary:
    'A store of individual animals that are available for adoption. Clients list, add and get animals.',
  /** The version of the interface. That of the service is in package.json. */
  interfaceVersion: '1.0.0',
  /** Letters, digits and `_`. API keys that were issued with another prefix become invalid. */
  keyPrefix: 'aas_',
  /** In the header `WWW-Authenticate`. */
  realm: 'pets',
  /** The command for operators, which the image and `postinstall` of package.json install. */
  command: 'pets',
  /** The embedded database and its user, and the name of connections in pg_stat_activity. */
  database: 'pets',
  /** The start of the names of metrics. */
  metricsPrefix: 'pets_',
  /** The default of REDIS_PREFIX. */
  redisPrefix: 'aas:',
} as const;
