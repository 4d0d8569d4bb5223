// All tokens, or those that match: filters, order and page are in the URL, which takes every order and bound of a figure that the API has.
import { useLocation } from "preact-iso";
import { useRef, useState } from "preact/hooks";
import type { Page } from "../api";
import { count, cut, launchpadName, launchpads, plain, quoted } from "../format";
import { useGet, useTitle } from "../hooks";
import { Chips } from "../parts/chips";
import { Problem, Text } from "../parts/small";
import { TokenList } from "../parts/token-list";

const limit = 25;

const sorts = [["", "Best"], ["trending", "Trending"], ["volume", "Volume"], ["market_cap_usd", "Market cap"], ["liquidity_usd", "Liquidity"], ["newest", "Newest"], ["oldest", "Oldest"]] as const;
const programs = [["", "All"], ["token", "SPL Token"], ["token-2022", "Token-2022"]] as const;
const launched = [["", "Any"], ...launchpads.map((name) => [name, launchpadName(name)] as const)] as const;
const volumes = [["", "Any"], ["1000", "≥ $1K"], ["100000", "≥ $100K"], ["1000000", "≥ $1M"]] as const;
const ages = [["", "Any"], ["1h", "1 h"], ["24h", "24 h"], ["7d", "7 d"]] as const;
const powers = [["", "Any"], ["permanent_delegate,transfer_hook,pausable", "No delegate, hook or pause"]] as const;

/** hours are those of an age. */
const hours = new Map([["1h", 1], ["24h", 24], ["7d", 168]]);

/** names of the parameters in the pages' URLs: those of the API, but for an age, which would be a time that passes. */
const names = ["q", "sort", "program", "launchpad", "min_volume", "age", "not_ext", "ext", "tag", "min", "max", "page"] as const;
type Name = (typeof names)[number];
type Wanted = Partial<Record<Name, string>>;

function url(wanted: Wanted): string {
  const parameters = new URLSearchParams();
  for (const name of names) if (wanted[name] && !(name === "page" && wanted[name] === "1")) parameters.set(name, wanted[name]);
  return parameters.size ? `/?${parameters}` : "/";
}

/** request is what the API is asked. The time of an age stands still for a while, so that pages turn over one set. */
function request(wanted: Wanted): string {
  const parameters = new URLSearchParams({ limit: String(limit), evidence: "true", market: "true" });
  for (const name of names) if (name !== "age" && wanted[name]) parameters.set(name, wanted[name]);
  const age = hours.get(wanted.age ?? "");
  if (age) parameters.set("created_after", String(Math.floor(Date.now() / 60_000) * 60_000 - age * 3_600_000));
  return `/tokens?${parameters}`;
}

/** restart is how long the time of an age stands still, in milliseconds. */
const restart = 600_000;

/** useRequest is the request of a URL, made once for each URL; one of an age is made anew now and then. */
function useRequest(wanted: Wanted): string {
  const key = url(wanted) + (wanted.age ? ` ${Math.floor(Date.now() / restart)}` : "");
  const made = useRef({ key: "", path: "" });
  if (made.current.key !== key) made.current = { key, path: request(wanted) };
  return made.current.path;
}

export function Tokens() {
  const { query, route } = useLocation();
  const wanted = query as Wanted;
  const { data: fresh, error } = useGet<Page>(useRequest(wanted), 20_000);
  const last = useRef<Page | undefined>(undefined);
  if (fresh) last.current = fresh;
  const data = fresh ?? (error ? undefined : last.current); // the list stays until the next one is there
  useTitle(wanted.q ? `“${cut(plain(wanted.q), 60)}”` : "");
  const page = Math.max(1, Number(wanted.page) || 1);
  const pages = data ? Math.max(1, Math.ceil(data.total / limit)) : 1;
  const set = (name: Name) => (value: string) => route(url({ ...wanted, page: undefined, [name]: value }));
  const turn = (to: number) => {
    route(url({ ...wanted, page: String(to) }));
    scrollTo(0, 0);
  };
  const [more, setMore] = useState(false); // phones show filters when asked
  const filtered = names.some((name) => name !== "page" && name !== "sort" && wanted[name]);
  return (
    <>
      <h1 class="hidden">{wanted.q ? `Tokens that match ${quoted(wanted.q)}` : "All tokens"}</h1>
      <div class="filters">
        <Chips label="Sort" value={wanted.sort ?? ""} choices={sorts} choose={set("sort")} />
        <button type="button" class="chip more" aria-expanded={more} aria-controls="filters" onClick={() => setMore(!more)}>
          Filters
        </button>
        <div id="filters" class={more ? "filters" : "filters folded"}>
          <Chips label="Program" value={wanted.program ?? ""} choices={programs} choose={set("program")} />
          <Chips label="Launchpad" value={wanted.launchpad ?? ""} choices={launched} choose={set("launchpad")} />
          <Chips label="Volume" value={wanted.min_volume ?? ""} choices={volumes} choose={set("min_volume")} />
          <Chips label="Age" value={wanted.age ?? ""} choices={ages} choose={set("age")} />
          <Chips label="Powers" value={wanted.not_ext ?? ""} choices={powers} choose={set("not_ext")} />
          {wanted.tag && <Gone name="Tag" value={wanted.tag} remove={() => set("tag")("")} />}
          {wanted.ext && <Gone name="Extension" value={wanted.ext} remove={() => set("ext")("")} />}
          {wanted.min && <Gone name="At least" value={wanted.min} remove={() => set("min")("")} />}
          {wanted.max && <Gone name="At most" value={wanted.max} remove={() => set("max")("")} />}
          {filtered && (
            <button type="button" class="link" onClick={() => route("/")}>
              Clear all
            </button>
          )}
        </div>
      </div>
      {error && <Problem>{error}</Problem>}
      <p class="found" role="status">
        {data && (data.total === 0 ? "No token matches." : `${count(data.total)} ${data.total === 1 ? "token" : "tokens"}`)}
      </p>
      <div aria-busy={!fresh}>{data && data.items.length > 0 && <TokenList items={data.items} label="Tokens" />}</div>
      {pages > 1 && (
        <nav class="turn" aria-label="Result pages">
          <button type="button" disabled={page <= 1} onClick={() => turn(page - 1)}>
            Previous
          </button>
          <span>
            {count(page)} / {count(pages)}
          </span>
          <button type="button" disabled={page >= pages} onClick={() => turn(page + 1)}>
            Next
          </button>
        </nav>
      )}
    </>
  );
}

/** Gone is a filter that came with the URL; a press takes it away. */
function Gone({ name, value, remove }: { name: string; value: string; remove: () => void }) {
  return (
    <button type="button" class="chip" aria-pressed="true" onClick={remove} aria-label={`Remove the filter ${name} ${quoted(value)}`}>
      {name}: <Text of={value} most={40} /> ✕
    </button>
  );
}
