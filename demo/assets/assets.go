// Package assets serves the demo tokens' off-chain JSON and logos over HTTP.
//
// In: GET /metadata/MINT.json, /logo/MINT.png and /logo/MINT.svg, and a lookup of what the chain
// says about a mint.
// Out: metadata in the Metaplex fungible shape; small pictures drawn from the mint's bytes, and
// drawings for the tokens of genesis.
// Guarantees: equal mints give equal bytes, at any time and on any node. About one logo in seven is
// broken on purpose (missing, HTML instead of an image, slow, cut off) and some JSON is too,
// decided by the mint alone: enrichment has to live with that. Those of the tokens of genesis are
// good.
package assets

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/chain"
)

// Token is what the chain says about a mint. Major is the symbol of a token that exists at genesis,
// and empty for all others, also for a copy with the same name and symbol. The document and the
// logo of a major are always good.
type Token struct{ Name, Symbol, Major string }

// Lookup finds a mint; ok is false for one that does not exist.
type Lookup func(mint chain.Key) (t Token, ok bool)

// SlowLogo is how long a slow logo takes: longer than a sensible client waits.
const SlowLogo = 20 * time.Second

// Handler serves metadata and logos. baseURL returns where they are reached, without a trailing
// slash.
func Handler(baseURL func() string, lookup Lookup) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metadata/{file}", func(w http.ResponseWriter, r *http.Request) {
		mint, _, ok := parse(r.PathValue("file"), "json")
		if !ok {
			http.NotFound(w, r)
			return
		}
		t, ok := lookup(mint)
		if !ok {
			http.NotFound(w, r)
			return
		}
		serveMetadata(w, baseURL(), mint, t)
	})
	mux.HandleFunc("GET /logo/{file}", func(w http.ResponseWriter, r *http.Request) {
		mint, ext, ok := parse(r.PathValue("file"), "png", "svg")
		if !ok {
			http.NotFound(w, r)
			return
		}
		if lookup != nil {
			if t, ok := lookup(mint); ok && t.Major != "" {
				serveMajor(w, t.Major)
				return
			}
		}
		serveLogo(w, r, mint, ext)
	})
	return mux
}

// parse splits a file name into the mint and the extension; false unless the extension is one of
// allowed.
func parse(file string, allowed ...string) (chain.Key, string, bool) {
	name, ext, ok := strings.Cut(file, ".")
	if !ok {
		return chain.Key{}, "", false
	}
	mint, err := pubkey.Parse(name)
	if err != nil {
		return chain.Key{}, "", false
	}
	for _, a := range allowed {
		if ext == a {
			return mint, ext, true
		}
	}
	return chain.Key{}, "", false
}

// traits returns pseudo-random bytes that depend on the mint alone. Each decides one property of
// its document or logo.
func traits(mint chain.Key) [32]byte {
	return sha256.Sum256(append([]byte("mintlake demo asset/"), mint[:]...))
}

// Metadata is the off-chain JSON of a token, as fungible tokens commonly publish it.
type Metadata struct {
	Name        string            `json:"name"`
	Symbol      string            `json:"symbol"`
	Description string            `json:"description,omitempty"`
	Image       string            `json:"image,omitempty"`
	ExternalURL string            `json:"external_url,omitempty"`
	Extensions  map[string]string `json:"extensions,omitempty"`
	Attributes  []Attribute       `json:"attributes,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
}

// Attribute is one trait of the Metaplex standard.
type Attribute struct {
	TraitType string `json:"trait_type"`
	Value     string `json:"value"`
}

// Describe makes the JSON of a mint. A byte of its traits decides for each field whether it is
// there.
func Describe(baseURL string, mint chain.Key, t Token) Metadata {
	d := traits(mint)
	m := Metadata{Name: t.Name, Symbol: t.Symbol}
	if d[0] < 200 {
		m.Description = fmt.Sprintf("%s (%s) is a token of the Mintlake demo chain. It is worth nothing.", t.Name, t.Symbol)
	}
	ext := "png"
	if d[1] < 90 {
		ext = "svg"
	}
	if t.Major != "" {
		ext, d[2] = "svg", 0
	}
	if d[2] < 240 {
		m.Image = fmt.Sprintf("%s/logo/%s.%s", baseURL, mint, ext)
	}
	if d[3] < 128 {
		site := fmt.Sprintf("https://%x.mintlake.invalid", d[4:7])
		m.ExternalURL = site
		m.Extensions = map[string]string{"website": site, "twitter": fmt.Sprintf("https://x.com/demo_%x", d[7:10])}
		if d[10] < 128 {
			m.Extensions["telegram"] = fmt.Sprintf("https://t.me/demo_%x", d[11:14])
		}
	}
	if d[14] < 100 {
		m.Attributes = []Attribute{{"Chain", "demo"}, {"Mood", []string{"calm", "loud", "wet", "hopeful"}[d[15]%4]}}
	}
	if d[16] < 80 {
		m.Tags = []string{[]string{"meme", "defi", "game", "ai"}[d[17]%4], "demo"}
	}
	return m
}

// serveMetadata answers with the token's metadata. For 11 of 256 tokens it fails, always in the
// same way: by an error, a web page, or JSON that is cut off. The major tokens never fail.
func serveMetadata(w http.ResponseWriter, baseURL string, mint chain.Key, t Token) {
	d := traits(mint)
	switch {
	case t.Major != "":
	case d[20] < 4:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case d[20] < 8:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Rate limited</title>"))
		return
	case d[20] < 11:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"name":"unfinished`))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Describe(baseURL, mint, t)) // the client is gone
}

// Fate is what the server does with a logo.
type Fate uint8

// The fates of logos.
const (
	LogoGood    Fate = iota
	LogoMissing      // status 404
	LogoHTML         // a page instead of an image
	LogoSlow         // good, but after SlowLogo
	LogoCut          // the first half of the bytes
)

// LogoFate returns what the server does with the logo of a mint.
func LogoFate(mint chain.Key) Fate {
	switch d := traits(mint)[21]; {
	case d < 16:
		return LogoMissing
	case d < 26:
		return LogoHTML
	case d < 30:
		return LogoSlow
	case d < 36:
		return LogoCut
	}
	return LogoGood
}

// serveMajor serves the drawing of a token of genesis.
func serveMajor(w http.ResponseWriter, symbol string) {
	body, ok := drawMajor(symbol)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write(body) // the client is gone
}

// serveLogo answers with the token's picture, or spoils the answer as LogoFate says.
func serveLogo(w http.ResponseWriter, r *http.Request, mint chain.Key, ext string) {
	body, kind := svg(mint), "image/svg+xml"
	if ext == "png" {
		body, kind = drawPNG(mint), "image/png"
	}
	switch LogoFate(mint) {
	case LogoMissing:
		http.NotFound(w, r)
		return
	case LogoHTML:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Gateway</title><h1>This is no image</h1>"))
		return
	case LogoSlow:
		select {
		case <-time.After(SlowLogo):
		case <-r.Context().Done():
			return
		}
	case LogoCut:
		body = body[:len(body)/2]
	case LogoGood:
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write(body) // the client is gone
}

// hue returns a bright colour; b goes once around the colour wheel.
func hue(b byte) color.RGBA {
	i, f := int(b)/43, byte((int(b)%43)*6)
	switch i {
	case 0:
		return color.RGBA{255, f, 60, 255}
	case 1:
		return color.RGBA{255 - f, 255, 60, 255}
	case 2:
		return color.RGBA{60, 255, f, 255}
	case 3:
		return color.RGBA{60, 255 - f, 255, 255}
	case 4:
		return color.RGBA{f, 60, 255, 255}
	}
	return color.RGBA{255, 60, 255 - f, 255}
}

// drawPNG is a 64x64 picture: a mirrored 8x8 pattern in two colours.
func drawPNG(mint chain.Key) []byte {
	d := traits(mint)
	img := image.NewPaletted(image.Rect(0, 0, 64, 64), color.Palette{hue(d[22]), hue(d[23] + 90)})
	for y := range 64 {
		for x := range 64 {
			cx := min(x/8, 7-x/8)
			if d[24+cx]>>(y/8)&1 == 1 {
				img.SetColorIndex(x, y, 1)
			}
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // a buffer does not fail
	return b.Bytes()
}

func svg(mint chain.Key) []byte {
	d := traits(mint)
	a, b := hue(d[22]), hue(d[23]+90)
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="64" height="64"><rect width="64" height="64" rx="%d" fill="#%02x%02x%02x"/><circle cx="%d" cy="%d" r="%d" fill="#%02x%02x%02x"/></svg>`,
		d[24]%32, a.R, a.G, a.B, 20+d[25]%24, 20+d[26]%24, 8+d[27]%16, b.R, b.G, b.B)
}
