package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// TestDocs runs every block of commands of the pages, and every example of the OpenAPI documents,
// against one node over the demo chain. What is behind "sh" says what a block needs: the running
// node (nothing), one that has stopped (stopped), or what a test has not, such as another machine,
// a provider or root (elsewhere). A start of a node is marked too (start). Runbooks and operations
// have tests of their own.
func TestDocs(t *testing.T) {
	t.Parallel()
	const token = "MINTLAKE_ADMIN_TOKEN=a-token-that-only-this-test-knows"
	folder := t.TempDir()
	up := beginWith(t, []string{token, "MINTLAKE_ENRICH_OFFCHAIN=true"}, "up", filepath.Join(folder, ".mintlake"),
		"--source", "demo:?past=0&tps=60&tokens=100&slot_time=200ms", "--admin-addr", "127.0.0.1:0", "--metrics-pprof", "--stream-processed", "--rate-limits-enabled=false", "--clickhouse-memory-bytes", "2147483648")
	up.awaitUp()
	up.awaitTold(t)

	pages, direct := pagesWithCommands(t), pageShell(t, up, nil)
	// These make keys, which closes surfaces to those who have none.
	withKeys := []string{"keys.md", "gateway.md", "swap.md"}
	// One after the other: in parallel they would wait for a turn while the node runs.
	t.Run("open", func(t *testing.T) {
		for _, page := range pages {
			if slices.Contains(withKeys, page) {
				continue
			}
			t.Run(page, func(t *testing.T) {
				pageShell(t, up, nil).runPage(t, page, "sh")
			})
		}
		t.Run("cli.md", func(t *testing.T) {
			screensRun(t, direct)
		})
		for _, surface := range []string{"api", "swap"} {
			t.Run("examples of "+surface, func(t *testing.T) {
				examplesAnswer(t, pageShell(t, up, nil), up.addresses[surface], up)
			})
		}
		t.Run("shapes", func(t *testing.T) {
			shapesHold(t, up)
		})
		t.Run("sql", func(t *testing.T) {
			queriesRun(t, up)
		})
		t.Run("mcp", func(t *testing.T) {
			mcpAnswers(t, up)
		})
		t.Run("client", func(t *testing.T) {
			exampleRuns(t, up)
		})
	})
	admin := []string{token, "MINTLAKE_ADMIN_ADDR=" + strings.TrimPrefix(up.addresses["admin"], "http://")}
	for _, product := range []string{"rpc", "swap"} {
		admin = append(admin, strings.ToUpper(product)+"_KEY="+newKey(t, admin, product))
	}
	for _, page := range withKeys {
		pageShell(t, up, admin).runPage(t, page, "sh")
	}
	stopped := pageShell(t, up, []string{"MINTLAKE_KAFKA_ADDR=127.0.0.1:0", "MINTLAKE_CLICKHOUSE_ADDR=127.0.0.1:0"})
	stopped.folder = folder
	require.Zero(t, up.stop(), up.log())
	for _, page := range pages {
		stopped.runPage(t, page, "sh stopped")
	}
}

// exampleRuns runs the example of package client.
func exampleRuns(t *testing.T, up *instance) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "../client/example")
	cmd.Env = append(os.Environ(), "MINTLAKE_URL="+up.addresses["api"])
	var stderr strings.Builder // go run may tell of a download there
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	require.Regexp(t, `^USDC EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v\ndecimals 6\n(new|changed) `, string(out))
}

// curlOfPages is what a page's curl runs: an answer that is an error, or an empty page of tokens,
// is a failure of the command, and a stream ends when its time is over. A node that is busy may ask
// to try again.
const curlOfPages = `case " $* " in *" --max-time "*)
  code=0
  CURL --fail-with-body "$@" --max-time 3 || code=$?
  [ $code = 28 ] && exit 0
  exit $code
esac
answer=$(mktemp)
head=$(mktemp)
trap 'rm "$answer" "$head"' EXIT
tries=0
until
  code=0
  CURL --fail-with-body -D "$head" "$@" >"$answer" || code=$?
  [ $code != 22 ] || [ $tries = 100 ] || ! grep -qE '^HTTP/[0-9.]+ (429|502|503) ' "$head"
do
  tries=$((tries + 1))
  sleep 1
done
cat "$answer"
[ $code = 0 ] || exit $code
if grep -q '^{"items":\[\]' "$answer"; then echo "no items: $*" >&2; exit 1; fi`

// watchOfPages is what a page's mintlake tokens watch runs: it ends as by Ctrl-C. A process that
// was not ready for that yet has more time when it is started again.
const watchOfPages = `for seconds in 3 30; do
  code=0
  timeout --preserve-status -s INT $seconds mintlake tokens watch "$@" || code=$?
  [ $code = 130 ] || exit $code
done
exit $code`

// pageShell is a shell in a folder of its own, for commands that ask the node.
func pageShell(t *testing.T, up *instance, env []string) *shell {
	t.Helper()
	curl, err := exec.LookPath("curl")
	require.NoError(t, err)
	admin := strings.TrimPrefix(up.addresses["admin"], "http://")
	return &shell{
		folder:  t.TempDir(),
		instead: append(up.insteadOfDefaults(), "bin/mintlake tokens watch", "watch-tokens", "bin/mintlake ", "mintlake ", "127.0.0.1:8090", admin, "127.0.0.1:9092", up.addresses["kafka"]),
		env: append([]string{
			"MINTLAKE_LOG_LEVEL=error", "MINTLAKE_KAFKA_ADDR=" + up.addresses["kafka"], "MINTLAKE_URL=" + up.addresses["api"], "MINTLAKE_SWAP_URL=" + up.addresses["swap"],
		}, env...),
		programs: map[string]string{"curl": strings.ReplaceAll(curlOfPages, "CURL", curl), "watch-tokens": watchOfPages},
	}
}

// runPage runs all blocks of a page with this mark as one person would in one shell: what one sets
// the next one knows.
func (s *shell) runPage(t *testing.T, page, mark string) {
	t.Helper()
	commands := "set -x\n" // what failed
	for _, block := range blocksOf(t, page) {
		if block.Mark == mark {
			commands += block.Text
		}
	}
	s.run(t, commands)
}

// awaitTold waits until the demo has all that the pages ask for.
func (i *instance) awaitTold(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(hang)
	for _, path := range []string{
		"/tokens?market=true&sort=trending&min_liquidity=10000", "/tokens?sort=first_pool_at&min_liquidity=20000", "/tokens?q=lake", "/tokens?q=usdc",
		"/tokens?program=token-2022&ext=metadata_pointer",
	} {
		for {
			_, body := i.get(path)
			if strings.Contains(string(body), `"items":[{`) {
				break
			}
			require.True(t, time.Now().Before(deadline), "%s: %s", path, body)
			time.Sleep(200 * time.Millisecond)
		}
	}
	for i.status().Source.Slot < 400_000_060 { // a page asks for slot 400000050
		require.True(t, time.Now().Before(deadline), "the demo stands still: %+v", i.status())
		time.Sleep(200 * time.Millisecond)
	}
}

// pagesWithCommands are the pages of docs/ with a block that runs here.
func pagesWithCommands(t *testing.T) (pages []string) {
	t.Helper()
	for page := range blocksMarked(t, "sh") {
		if page != "runbooks.md" && page != "operations.md" {
			pages = append(pages, page)
		}
	}
	require.Greater(t, len(pages), 8)
	slices.Sort(pages)
	return pages
}

// newKey issues a key and returns it.
func newKey(t *testing.T, env []string, product string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "keys", "create", product, "docs", "--json")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	key := regexp.MustCompile(`ml_` + product + `_\w+`).Find(out)
	require.NotNil(t, key, string(out))
	return string(key)
}

var screen = regexp.MustCompile(`(?m)^\$ (mintlake (?:tokens|status|quote).*)$`)

// screensRun runs the commands of the screens of docs/cli.md. What they print is held to the code
// by client/cli.
func screensRun(t *testing.T, s *shell) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "cli.md"))
	require.NoError(t, err)
	ran := 0
	for _, match := range screen.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(match[1], "serch") {
			continue
		}
		ran++
		require.NotEmpty(t, s.run(t, match[1]), match[1])
	}
	require.Greater(t, ran, 5)
}
