/** The event after an animal was sold. */
export const ORDER_CREATED = 'order.created';

export interface OrderCreated {
  /** An int64 as text, because JSON.stringify rejects a bigint. */
  orderId: string;
}
