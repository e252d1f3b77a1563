import { Controller, Get, Injectable, Module, Post, Req, UseGuards } from '@nestjs/common';
import { JwtModule, JwtService } from '@nestjs/jwt';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { Public } from '#platform';

const SECRET = 'for this example only, at least 32 characters';

@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy) {
  constructor() {
    super({ jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(), secretOrKey: SECRET });
  }

  validate({ sub }: { sub: string }): { userId: string } {
    return { userId: sub };
  }
}

@Public()
@Controller('account')
export class AccountController {
  constructor(private readonly jwt: JwtService) {}

  @Post('login')
  async login(): Promise<{ access_token: string }> {
    return { access_token: await this.jwt.signAsync({ sub: '4711' }) };
  }

  @Get()
  @UseGuards(AuthGuard('jwt'))
  read(@Req() request: { user: { userId: string } }): { userId: string } {
    return request.user;
  }
}

@Module({
  imports: [
    PassportModule,
    JwtModule.register({ secret: SECRET, signOptions: { expiresIn: '60s' } }),
  ],
  controllers: [AccountController],
  providers: [JwtStrategy],
})
export class AccountModule {}
