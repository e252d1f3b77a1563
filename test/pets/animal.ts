interface Animal {
  id: number | string;
  name: string;
  categoryId: bigint | number | string;
  status: 'available' | 'pending' | 'sold';
}

/** The exact text of an animal in a response: its properties and their order. */
export function animalText({ id, name, categoryId, status }: Animal): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

/** The columns of an exported animal. */
export const EXPORTED_COLUMNS = 'name,categoryId,status';
