import * as Sentry from '@sentry/nestjs';

Sentry.init({
  dsn: 'https://key@127.0.0.1/1',
  beforeSend(event) {
    console.log(`sentry: ${event.exception?.values?.[0]?.value ?? ''}`);
    return null;
  },
});
