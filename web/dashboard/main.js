import { SignedOut, call } from './api.js';
import { field, form, h, tell } from './dom.js';
import { keys } from './keys.js';
import { deadLetters, pipeline, streams, upstreams } from './node.js';
import { usage } from './usage.js';

// pages by the part of the address behind #, with how often they are read again, in seconds.
const pages = {
  keys: ['Keys', keys, 0], usage: ['Usage', usage, 0], upstreams: ['Upstreams', upstreams, 2], streams: ['Streams', streams, 2],
  pipeline: ['Pipeline', pipeline, 2], 'dead-letters': ['Dead letters', deadLetters, 0],
};
const [page, nav, leave] = ['page', 'nav', 'leave'].map((id) => document.getElementById(id));
let shown = 0; // number of the page on show: an older one that is still being read is thrown away
let timer;

function signIn() {
  shown++;
  clearTimeout(timer);
  document.getElementById('dialog').close();
  nav.hidden = leave.hidden = true;
  page.replaceChildren(h('section', { class: 'sign-in' }, h('h1', {}, 'Sign in'),
    form([field('Admin token', { name: 'token', type: 'password', autocomplete: 'current-password', required: true, autofocus: true }, 'MINTLAKE_ADMIN_TOKEN of this node')],
      'Sign in', async ({ token }) => {
        await call('POST', '/session', { token });
        await show();
      })));
  page.querySelector('input').focus();
}

async function show(moved) {
  const name = location.hash.slice(1) in pages ? location.hash.slice(1) : 'keys';
  const [title, draw, seconds] = pages[name];
  const turn = ++shown;
  clearTimeout(timer);
  const fresh = h('div', {});
  try {
    await draw(fresh);
  } catch (error) {
    if (error instanceof SignedOut) {
      signIn();
      return;
    }
    fresh.replaceChildren(h('h1', {}, title), h('p', { class: 'problem', role: 'alert' }, error.message));
  }
  if (turn !== shown) return;
  document.title = `${title} · Mintlake dashboard`;
  nav.hidden = leave.hidden = false;
  for (const link of nav.children) link.toggleAttribute('aria-current', link.hash === `#${name}`);
  page.replaceChildren(fresh);
  if (moved) page.focus();
  if (seconds) timer = setTimeout(() => (document.hidden ? wake() : show()), seconds * 1000);
}

function wake() {
  document.addEventListener('visibilitychange', () => show(), { once: true });
}

nav.replaceChildren(...Object.entries(pages).map(([name, [title]]) => h('a', { href: `#${name}` }, title)));
leave.addEventListener('click', async () => {
  await call('DELETE', '/session').catch(() => {});
  tell('You are signed out.');
  signIn();
});
window.addEventListener('hashchange', () => {
  tell('');
  if (location.hash !== '#page') show(true);
});
window.addEventListener('unhandledrejection', (event) => {
  if (event.reason instanceof SignedOut) signIn();
});
show();
