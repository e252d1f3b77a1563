@rem Windows has no `exec`. With it, `npm start` needs no shell on other systems, so that signals reach the service.
@%*
