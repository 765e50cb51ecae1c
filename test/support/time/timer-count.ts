/**
 * How many timers of this process wait to fire; a wait that is over and was not stopped leaves one. Compare two counts
 * of one turn of the event loop only: in another, anything may fire.
 */
export function timerCount(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}
