package assets

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/logos/picture"
	"github.com/mintlake/mintlake/testworld/chain"
)

// mintWith finds a mint whose logo has the fate.
func mintWith(t *testing.T, fate Fate) chain.Key {
	t.Helper()
	for i := range 100_000 {
		k := chain.Key{byte(i), byte(i >> 8), byte(i >> 16), 1}
		if LogoFate(k) == fate && traits(k)[20] > 20 {
			return k
		}
	}
	t.Fatal("no such mint")
	return chain.Key{}
}

func get(t *testing.T, h http.Handler, path string) (int, string, []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	b, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return w.Code, w.Header().Get("Content-Type"), b
}

func handler() http.Handler {
	return Handler(func() string { return "http://demo.test" }, func(k chain.Key) (Token, bool) { return Token{Name: "Tidal Otter", Symbol: "OTTER"}, k[31] == 0 })
}

func TestGoodLogosDecode(t *testing.T) {
	k := mintWith(t, LogoGood)
	status, kind, body := get(t, handler(), "/logo/"+k.String()+".png")
	require.Equal(t, 200, status)
	require.Equal(t, "image/png", kind)
	img, err := png.Decode(bytes.NewReader(body))
	require.NoError(t, err)
	require.Equal(t, 64, img.Bounds().Dx())
	_, _, again := get(t, handler(), "/logo/"+k.String()+".png")
	require.Equal(t, body, again)
	status, kind, body = get(t, handler(), "/logo/"+k.String()+".svg")
	require.Equal(t, 200, status)
	require.Equal(t, "image/svg+xml", kind)
	require.NoError(t, xml.Unmarshal(body, new(struct{ XMLName xml.Name })))
}

func TestBrokenLogosAreBroken(t *testing.T) {
	status, _, _ := get(t, handler(), "/logo/"+mintWith(t, LogoMissing).String()+".png")
	require.Equal(t, 404, status)
	status, kind, _ := get(t, handler(), "/logo/"+mintWith(t, LogoHTML).String()+".png")
	require.Equal(t, 200, status)
	require.Equal(t, "text/html", kind)
	_, _, body := get(t, handler(), "/logo/"+mintWith(t, LogoCut).String()+".png")
	_, err := png.Decode(bytes.NewReader(body))
	require.Error(t, err)
	broken := 0
	for i := range 10_000 {
		if LogoFate(chain.Key{byte(i), byte(i >> 8), 2}) != LogoGood {
			broken++
		}
	}
	require.InDelta(t, 1400, broken, 150)
}

func TestMetadataNamesTheToken(t *testing.T) {
	k := mintWith(t, LogoGood)
	status, kind, body := get(t, handler(), "/metadata/"+k.String()+".json?v=3")
	require.Equal(t, 200, status)
	require.Equal(t, "application/json", kind)
	var m Metadata
	require.NoError(t, json.Unmarshal(body, &m))
	require.Equal(t, "Tidal Otter", m.Name)
	require.Equal(t, "OTTER", m.Symbol)
	for _, path := range []string{"/metadata/x.json", "/metadata/" + k.String() + ".txt", "/metadata/" + k.String(), "/metadata/" + (chain.Key{31: 1}).String() + ".json"} {
		status, _, _ = get(t, handler(), path)
		require.Equal(t, 404, status, path)
	}
}

// The logos of the tokens of genesis are drawings that pass every check of logos, and no two are
// equal: equal ones would count as copies.
func TestMajorsHaveDrawings(t *testing.T) {
	h := Handler(func() string { return "http://demo.test" }, func(k chain.Key) (Token, bool) {
		t := Token{Name: "Renamed", Symbol: "NEW"}
		if k[31] == 0 {
			t.Major = "LAKE"
		}
		return t, true
	})
	for _, fate := range []Fate{LogoMissing, LogoHTML, LogoCut} {
		k := mintWith(t, fate)
		status, kind, body := get(t, h, "/logo/"+k.String()+".svg")
		require.Equal(t, 200, status)
		require.Equal(t, "image/svg+xml", kind)
		want, ok := drawMajor("LAKE")
		require.True(t, ok)
		require.Equal(t, want, body)
		_, _, body = get(t, h, "/metadata/"+k.String()+".json")
		require.Contains(t, string(body), k.String()+".svg")
	}
	fake := chain.Key{1, 31: 1}
	_, _, body := get(t, h, "/logo/"+fake.String()+".svg")
	require.NotContains(t, string(body), "linearGradient", "one that only has the name")
	seen := map[string]string{}
	for symbol := range drawings {
		body, ok := drawMajor(symbol)
		require.True(t, ok)
		require.Less(t, len(body), 4096, symbol)
		info, err := picture.Inspect(body, picture.Limits{})
		require.NoError(t, err, symbol)
		require.Equal(t, "image/svg+xml", info.Type)
		require.Empty(t, seen[string(body)])
		seen[string(body)] = symbol
	}
}
