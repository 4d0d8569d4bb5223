// A gateway of the suite's own, over the node's Kafka, that can be killed and started again at the same address.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export class Gateway {
  constructor(folder) {
    this.folder = folder;
    this.addr = '127.0.0.3:0'; // nobody else listens at this address, so the port stays free while the gateway is away
  }

  async start() {
    this.process = spawn(process.env.MINTLAKE_BIN, ['gateway', '--data-dir', this.folder, '--kafka-brokers', process.env.MINTLAKE_KAFKA,
      '--stream-addr', this.addr, '--rpc-addr', '127.0.0.1:0', '--metrics-addr', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'ignore'] });
    for await (const line of createInterface({ input: this.process.stdout })) {
      const found = line.match(/^addresses .*\bstream=http:\/\/(\S+)/);
      if (found) {
        this.addr = found[1];
        return;
      }
    }
    throw new Error('the gateway ended');
  }

  // kill is kill -9.
  async kill() {
    const gone = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await gone;
  }
}
