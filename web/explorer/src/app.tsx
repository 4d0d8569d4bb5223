import { ErrorBoundary, LocationProvider, Route, Router, lazy, useLocation } from "preact-iso";
import { Search } from "./parts/search";
import { StatusLine } from "./parts/status-line";
import { Tokens } from "./pages/tokens";
import { useTitle } from "./hooks";

// What few visits need is loaded with the page that needs it; the charts are most of it.
const NewPage = lazy(() => import("./pages/new").then((module) => module.NewPage));
const MoversPage = lazy(() => import("./pages/movers").then((module) => module.MoversPage));
const VolumePage = lazy(() => import("./pages/volume").then((module) => module.VolumePage));
const QuotePage = lazy(() => import("./pages/quote").then((module) => module.QuotePage));
const CoveragePage = lazy(() => import("./pages/coverage").then((module) => module.CoveragePage));
const OwnerPage = lazy(() => import("./pages/owner").then((module) => module.OwnerPage));
const TokenPage = lazy(() => import("./pages/token").then((module) => module.TokenPage));

/** pages are the paths that the explorer answers; the node serves the same (api/get_explorer.go). */
const pages = /^\/($|\?|token\/|owner\/|(new|movers|volume|quote|coverage)($|\?))/;

const menu = [["/", "Tokens"], ["/new", "New"], ["/movers", "Movers"], ["/volume", "Volume"], ["/quote", "Quote"], ["/coverage", "Coverage"]] as const;

/**
 * arrive moves the focus to a new page: the link that was pressed is gone. Whoever types already is not disturbed. The router itself
 * scrolls up, but not on the way back, where the browser does better.
 */
function arrive() {
  if (!(document.activeElement instanceof HTMLInputElement)) document.getElementById("main")?.focus({ preventScroll: true });
}

export function App() {
  return (
    <LocationProvider scope={pages}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Header />
      <main id="main" tabIndex={-1}>
        <ErrorBoundary onError={(error) => console.error(error)}>
          <Router onRouteChange={arrive}>
            <Route path="/" component={Tokens} />
            <Route path="/token/:mint" component={TokenPage} />
            <Route path="/owner/:owner" component={OwnerPage} />
            <Route path="/new" component={NewPage} />
            <Route path="/movers" component={MoversPage} />
            <Route path="/volume" component={VolumePage} />
            <Route path="/quote" component={QuotePage} />
            <Route path="/coverage" component={CoveragePage} />
            <Route default component={NotFound} />
          </Router>
        </ErrorBoundary>
      </main>
      <footer>
        <StatusLine />
        <nav aria-label="For programs">
          <a href="/docs">API</a> <a href="/openapi.json">OpenAPI</a> <a href="/status">Status</a>
        </nav>
        <p>
          Charts by <a href="https://www.tradingview.com/">TradingView</a> Lightweight Charts™
        </p>
      </footer>
    </LocationProvider>
  );
}

function Header() {
  const { path } = useLocation();
  return (
    <header class="top">
      <a class="brand" href="/">
        <img src={import.meta.env.BASE_URL + "icon.svg"} width={28} height={28} alt="" />
        Mintlake
      </a>
      <Search />
      <nav aria-label="Pages">
        {menu.map(([href, text]) => (
          <a href={href} aria-current={path === href ? "page" : undefined}>
            {text}
          </a>
        ))}
      </nav>
    </header>
  );
}

function NotFound() {
  useTitle("Not found");
  return (
    <div class="empty">
      <h1>There is no such page.</h1>
      <a href="/">All tokens</a>
    </div>
  );
}
