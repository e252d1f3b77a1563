/** The event after an animal was sold. */
export const ORDER_CREATED = 'order.created';

export interface OrderCreated {
  orderId: bigint;
}
