// @ts-check
// node:http with constant rejections: the minimum cost of a response.
import { createServer } from 'node:http';

const UNAUTHORIZED = JSON.stringify({
  code: 'missing_api_key',
  message: 'Send an API key.',
  status: 401,
});
const TOO_MANY_REQUESTS = JSON.stringify({
  code: 'rate_limit_exceeded',
  message: 'Too many requests.',
  status: 429,
});

createServer((request, response) => {
  const [status, body] = request.headers.authorization
    ? [429, TOO_MANY_REQUESTS]
    : [401, UNAUTHORIZED];
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}).listen(Number(process.env.PORT), '127.0.0.1');
