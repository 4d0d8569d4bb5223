// SignedOut is thrown when there is no session, or it is over.
export class SignedOut extends Error {}

export async function call(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method, credentials: 'same-origin', cache: 'no-store',
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Error('The node does not answer.');
  }
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401 && path !== '/session') throw new SignedOut();
  if (!response.ok) throw new Error(answer.message || `The node answers ${response.status}.`);
  return answer;
}
