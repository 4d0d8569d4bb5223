package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/hostileimages"
)

// TestHostilePictures: logos that want to do harm are refused, or served without the harm, in every
// form; good ones are served meanwhile.
func TestHostilePictures(t *testing.T) {
	cases := hostileimages.All()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n >= len(cases) {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(cases[n].Body)
	}))
	t.Cleanup(server.Close)
	fair := imageHosts(t)[0]
	up := underAttack(t, 4000, "--enrich-offchain=true", "--logos-timeout", "30s", "--logos-per-host", "32",
		"--enrich-allow-private", server.Listener.Addr().String(), "--enrich-allow-private", fair.addr)

	urls := make([]string, len(cases))
	for n := range cases {
		urls[n] = fmt.Sprintf("%s/%d", server.URL, n)
	}
	mints := tellOfURLs(t, up.brokers(), urls)
	tellOfLogos(t, up.brokers(), []*imageHost{fair}, 20)
	for n := range 20 {
		if mint, url, status := logoMint(n, []*imageHost{fair}); status == "ok" {
			up.awaitLogo(mint, status, url)
		}
	}
	for n, c := range cases {
		want := "ok"
		if c.Class != "" {
			want = "broken"
		}
		up.awaitLogo(mints[n], want, c.Name)
		for _, form := range []string{"", "?size=64", "?format=png", "?size=256&format=webp"} {
			requireHarmless(t, up.addresses["api"]+"/img/"+mints[n].String()+form, c)
		}
	}
}

// requireHarmless asks for an image as a page would.
func requireHarmless(t *testing.T, url string, c hostileimages.Case) {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s as %s", c.Name, url)
	kind := response.Header.Get("Content-Type")
	require.True(t, strings.HasPrefix(kind, "image/"), "%s as %s is %s", c.Name, url, kind)
	require.Less(t, len(body), 10<<20, "%s as %s", c.Name, url)
	if strings.HasPrefix(kind, "image/svg") {
		require.NotContains(t, strings.ToLower(string(body)), hostileimages.Mark, "%s as %s", c.Name, url)
	}
}
