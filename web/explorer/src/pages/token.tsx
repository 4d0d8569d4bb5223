// One token: /token/MINT.
import { useRoute } from "preact-iso";
import { useState } from "preact/hooks";
import type { Token } from "../api";
import { cut, plain, title } from "../format";
import { useGet, useTitle } from "../hooks";
import { Problem } from "../parts/small";
import { Facts } from "./token/facts";
import { Head } from "./token/head";
import { HistoryCard } from "./token/history";
import { HoldersCard } from "./token/holders";
import { Namesakes } from "./token/namesakes";
import { PoolsCard } from "./token/pools";
import { Powers } from "./token/powers";
import { PriceCard } from "./token/price";
import { Unknown } from "./token/unknown";
import { WindowsCard } from "./token/windows";
import { TradesCard, useLive } from "./token/trades";
import { TransfersCard } from "./token/transfers";

export function TokenPage() {
  const { params } = useRoute();
  const mint = params.mint ?? "";
  const base = `/tokens/${encodeURIComponent(mint)}`;
  const [asked, setAsked] = useState("");
  const { data: token, error, missing } = useGet<Token>(`${base}?evidence=true&market=true&windows=true`, asked === mint ? 2_000 : 10_000);
  const live = useLive(token && mint);
  useTitle(token ? [...new Set([cut(title(token), 30), plain(token.name)])].filter(Boolean).join(" · ") : mint);
  if (!token) {
    return (
      <>
        <h1 class="hidden">Token {mint}</h1>
        {missing ? <Unknown key={mint} mint={mint} onAsk={() => setAsked(mint)} /> : error ? <Problem>{error}</Problem> : <p class="empty">…</p>}
      </>
    );
  }
  return (
    <article class="token">
      {error && <Problem>{error}</Problem>}
      <Head token={token} />
      <WindowsCard token={token} />
      <PriceCard base={base} token={token} latest={live.trades[0]} />
      <Powers token={token} />
      <TradesCard base={base} token={token} live={live} />
      <PoolsCard base={base} token={token} />
      {/* A node that keeps no balances has no holders in its rows. */}
      {token.holders !== undefined && <HoldersCard key={`${base} holders`} base={base} token={token} />}
      {token.holders !== undefined && <TransfersCard key={`${base} transfers`} base={base} token={token} />}
      <Namesakes token={token} />
      <HistoryCard key={base} base={base} token={token} />
      <Facts base={base} token={token} />
    </article>
  );
}
