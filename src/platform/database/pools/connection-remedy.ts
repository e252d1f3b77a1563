/** What an operator can do about a connection that fails because of a setting. */
const REMEDIES: readonly [failure: RegExp, remedy: string][] = [
  [
    /self.signed certificate|unable to (?:verify|get)/i,
    'Add sslrootcert=FILE with the certificate of the certificate authority to the address',
  ],
  [
    /does not match certificate's altnames/i,
    'Use a host name of the certificate in the address, or sslmode=verify-ca',
  ],
  [/server does not support SSL/i, 'Turn on ssl in PostgreSQL, or use sslmode=disable'],
  [
    /pg_hba\.conf.*no encryption|SSL (?:connection )?(?:is )?required/i,
    'Add sslmode=verify-full to the address',
  ],
  [/client password must be/i, 'Add the password to the address, or set DATABASE_PASSWORD'],
];

/** Returns one sentence about a failure, or '' if no setting is known to be its cause. */
export function remedyFor(failure: string): string {
  const [, remedy] = REMEDIES.find(([pattern]) => pattern.test(failure)) ?? [];
  return remedy === undefined ? '' : `. ${remedy}.`;
}
