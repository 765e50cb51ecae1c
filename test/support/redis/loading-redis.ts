/** The program of a Redis that says the first five times that it is loading its file, and no more after that. */
export const loadingRedis = String.raw`
  const [, , given] = process.argv;
  if (given === '--version') {
    console.log('Redis server v=7.0.15 sha=0');
    process.exit();
  }
  const port = Number(/^port (.*)$/m.exec(require('node:fs').readFileSync(given, 'utf8'))[1]);
  let timesLeft = 5;
  const server = require('node:net').createServer((socket) => {
    socket.on('error', () => undefined).setEncoding('utf8').on('data', (text) => {
      for (const command of text.split(/^\*\d+\r\n/m).slice(1)) {
        const isInfo = /^\$4\r\ninfo\r\n/i.test(command);
        const info = 'process_id:' + process.pid + '\r\nloading:' + (isInfo && timesLeft-- > 0 ? 1 : 0);
        socket.write(isInfo ? '$' + info.length + '\r\n' + info + '\r\n' : '+OK\r\n');
      }
    });
  });
  server.listen(port, '127.0.0.1');
`;
