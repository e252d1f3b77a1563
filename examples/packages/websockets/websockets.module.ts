import { Module } from '@nestjs/common';
import {
  ConnectedSocket,
  MessageBody,
  SubscribeMessage,
  WebSocketGateway,
} from '@nestjs/websockets';

@WebSocketGateway({ path: '/v1/chat' })
export class ChatGateway {
  @SubscribeMessage('say')
  say(@MessageBody() text: string, @ConnectedSocket() _client: unknown): unknown {
    return { event: 'said', data: text };
  }
}

@Module({ providers: [ChatGateway] })
export class ChatModule {}
