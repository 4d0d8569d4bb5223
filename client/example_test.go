package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README shows the example, and the example runs.
func TestTheExampleOfTheReadmeRuns(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, shown)
	example, err := os.ReadFile("example/main.go")
	require.NoError(t, err)
	require.Equal(t, string(example), string(shown[1]), "the README shows example/main.go")

	const mint = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	const token = `{"mint":"` + mint + `","symbol":"USDC","name":"USD Coin","decimals":6}`
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.String() {
		case "/tokens?limit=5&q=usdc", "/tokens?q=usdc&limit=5":
			fmt.Fprint(w, `{"items":[`+token+`],"total":1,"page":1,"limit":5}`)
		case "/tokens/" + mint:
			fmt.Fprint(w, token)
		case "/tokens/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: removed\ndata: {\"mint\":\"x\"}\n\nevent: new\ndata: "+token+"\n\n")
		default:
			http.Error(w, r.URL.String(), http.StatusTeapot)
		}
	}))
	defer node.Close()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./example")
	cmd.Env = append(os.Environ(), "MINTLAKE_URL="+node.URL)
	var stderr strings.Builder // where `go run` says what it downloads
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	require.Equal(t, "USDC "+mint+"\ndecimals 6\nnew USDC\n", string(out))
}
