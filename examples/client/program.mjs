// @ts-check
// Adds an animal, and lists all available ones.

import { createClient, listPages } from './client.mjs';

const { STORE_URL = 'http://127.0.0.1:3000', API_KEY = '' } = process.env;
const client = createClient(STORE_URL, API_KEY);

const { error } = await client.POST('/pets', { body: { name: 'Frank', categoryId: 2n } });
if (error) throw new Error(`${error.code}: ${error.message}`);

for await (const page of listPages(client, { status: 'available', limit: 50 })) {
  for (const { id, name } of page) console.log(String(id), name);
}
