import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { boundReadAhead } from '../../../../api/http/connections/read-ahead.js';
import type { ReadAhead } from '../../../../api/http/connections/read-ahead.js';

describe('a connection whose client sends without waiting for answers', () => {
  let isRead: boolean;
  let socket: Socket;
  let open: object[];
  let readAhead: ReadAhead;

  beforeEach(() => {
    isRead = true;
    const fake = Object.assign(new EventEmitter(), {
      pause: () => (isRead = false),
      resume: () => {
        isRead = true;
        fake.emit('resume');
      },
    });
    socket = fake as unknown as Socket;
    open = [];
    readAhead = boundReadAhead(socket, open);
  });

  function send(count: number): void {
    for (let sent = 0; sent < count; sent += 1) {
      open.push({});
      readAhead.opened();
    }
  }
  function answer(count: number): void {
    for (let answered = 0; answered < count; answered += 1) {
      open.shift();
      readAhead.closed();
    }
  }

  it('is read until a hundred answers are open, and on when half of them are given', () => {
    send(99);
    expect(isRead).to.equal(true);
    send(1);
    expect(isRead).to.equal(false);
    answer(49);
    expect(isRead).to.equal(false);
    answer(1);
    expect(isRead).to.equal(true);
  });

  it('is not read on since something else resumes it', () => {
    send(100);
    socket.resume();
    expect(isRead).to.equal(false);
    answer(100);
    expect(isRead).to.equal(true);
    socket.pause();
    socket.resume();
    expect(isRead).to.equal(true);
  });
});
