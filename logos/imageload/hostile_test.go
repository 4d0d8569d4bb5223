package imageload

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/logos/blobs"
	"github.com/mintlake/mintlake/logos/decoder"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/picture"
)

const (
	publicAddress = "93.184.216.34"
	publicIPv6    = "2606:2800:220:1:248:1893:25c8:1946"
	svgHead       = `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8">`
)

// hostileWeb is a network of one server, whose resolver and whose pages want to do harm.
type hostileWeb struct {
	*Loader
	store *blobs.Store

	mu      sync.Mutex
	answers map[string][][]netip.Addr
	dialed  []netip.Addr
}

func (w *hostileWeb) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.answers[host]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(list) > 1 {
		w.answers[host] = list[1:]
	}
	return list[0], nil
}

func at(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

// servers are what listens behind the public addresses.
type servers struct {
	plain, secure, old *httptest.Server
	decoder            Decoder
}

func newServers(t *testing.T) *servers {
	t.Helper()
	stop := make(chan struct{})
	pages := hostilePages(stop)
	s := &servers{httptest.NewServer(pages), httptest.NewTLSServer(pages), httptest.NewUnstartedServer(pages),
		newDecoder(t, decoder.Config{Limits: picture.Limits{Pixels: 1 << 20}, Wall: 10 * time.Minute})}
	s.old.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	s.old.StartTLS()
	for _, server := range []*httptest.Server{s.plain, s.secure, s.old} {
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		t.Cleanup(server.Close)
	}
	t.Cleanup(func() { close(stop) })
	return s
}

func newHostileWeb(t *testing.T, s *servers, patience time.Duration) *hostileWeb {
	t.Helper()
	w := &hostileWeb{answers: map[string][][]netip.Addr{
		"good.test": {at(publicAddress)}, "ipfs.test": {at(publicAddress)}, "ipfs2.test": {at(publicAddress)}, "ar.test": {at(publicAddress)},
		"six.test": {at(publicIPv6)}, "ten.test": {at("10.0.0.1")}, "loop.test": {at("127.0.0.1", "::1")}, "meta.test": {at("169.254.169.254")},
		"mapped.test": {at("::ffff:192.168.0.1")}, "nat64.test": {at("64:ff9b::10.0.0.1")}, "ula.test": {at("fd00::1")}, "zero.test": {at("0.0.0.0")},
		"cgnat.test": {at("100.64.0.1")}, "mixed.test": {at("10.0.0.1", publicAddress)},
		"rebind.test": {at(publicAddress), at("127.0.0.1")}, "rebound.test": {at("127.0.0.1")},
	}}
	fetcher, err := fetch.New(fetch.Config{
		Purpose: "image", Timeout: patience, TryTimeout: patience, MaxBytes: 64 << 10,
		IPFSGateways: []string{"http://ipfs.test/ipfs/", "http://ipfs2.test/ipfs/"}, ArweaveGateways: []string{"http://ar.test/"},
	}, fetch.Deps{Resolver: w, Connect: func(ctx context.Context, address netip.Addr, port string) (net.Conn, error) {
		w.mu.Lock()
		w.dialed = append(w.dialed, address)
		w.mu.Unlock()
		to := s.plain
		switch port {
		case "443":
			to = s.secure
		case "8443":
			to = s.old
		case "8444":
			to = s.plain
		case "4444": // nobody listens
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", to.Listener.Addr().String())
	}})
	require.NoError(t, err)
	w.store, err = blobs.New(blobs.Config{Dir: t.TempDir()}, blobs.Deps{})
	require.NoError(t, err)
	require.NoError(t, w.store.Open())
	w.Loader, err = New(Config{limits: picture.Limits{Pixels: 1 << 20}, flight: 10 * time.Minute}, Deps{Fetcher: fetcher, Decoder: s.decoder, Store: w.store})
	require.NoError(t, err)
	return w
}

func pictureOf(seed byte) image.Image {
	out := image.NewPaletted(image.Rect(0, 0, 16, 16), color.Palette{color.White, color.RGBA{seed, 90, 0, 255}})
	for i := range out.Pix {
		out.Pix[i] = byte(i/3) & 1
	}
	return out
}

func pngOf(seed byte) []byte {
	var out bytes.Buffer
	_ = png.Encode(&out, pictureOf(seed))
	return out.Bytes()
}

// promise is a PNG whose header promises pixels that are not there.
func promise(width, height uint32) []byte {
	header := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	header = append(binary.BigEndian.AppendUint32(header, height), 8, 6, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), header...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(header))
}

func zipped(body []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(body)
	_ = z.Close()
	return out.Bytes()
}

// static are pages that are only bytes.
func static() map[string]string {
	whole := string(pngOf(1))
	var jpg, moving bytes.Buffer
	_ = jpeg.Encode(&jpg, pictureOf(2), nil)
	frame := pictureOf(3).(*image.Paletted)
	_ = gif.EncodeAll(&moving, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{1, 1}})
	return map[string]string{
		"/png": whole, "/jpeg": jpg.String(), "/gif": moving.String(), "/svg": svgHead + `<rect width="8" height="8"/></svg>`,
		"/svg-script": svgHead + `<script>fetch("https://evil.test")</script></svg>`, "/svg-onload": svgHead[:len(svgHead)-1] + ` onload="alert(1)"></svg>`,
		"/svg-foreign":  svgHead + `<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><iframe src="https://evil.test"/></body></foreignObject></svg>`,
		"/svg-external": svgHead + `<image href="http://169.254.169.254/latest/meta-data/"/><use href="http://10.0.0.1/x.svg#a"/></svg>`,
		"/svg-laughs":   `<!DOCTYPE svg [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>` + svgHead + `&b;</svg>`,
		"/svg-file":     `<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>` + svgHead + `&a;</svg>`,
		"/svg-cut":      svgHead + `<rect `, "/svg-deep": strings.Repeat(svgHead, 400) + strings.Repeat("</svg>", 400),
		"/html": "<!DOCTYPE html><html><title>Just a moment...</title></html>", "/json-error": `{"error":"not found"}`, "/empty": "", "/text": "Not Found",
		"/xml-error": `<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>`, "/bmp": "BM" + strings.Repeat("x", 100),
		"/cut": whole[:len(whole)/2], "/cut-end": whole[:len(whole)-14], "/bit": whole[:50] + "\xff" + whole[51:], "/signature": whole[:8],
		"/bomb-pixels": string(promise(30_000, 30_000)), "/bomb-line": string(promise(1<<31-1, 1)), "/no-pixels": string(promise(0, 0)),
		"/polyglot-html": whole + "<html><script>alert(1)</script></html>", "/polyglot-gif": "GIF89a\x01\x00\x01\x00/*" + "*/=1;alert(1)//",
		"/polyglot-zip": whole + "PK\x03\x04evil", "/large": string(promise(8, 8)) + strings.Repeat("x", 70<<10), "/avif-fake": "\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avifmif1miaf",
		"/webp-fake": "RIFF\xff\xff\xff\xffWEBPVP8 ", "/svgz": string(zipped([]byte(svgHead + "</svg>"))),
	}
}

func hostilePages(stop <-chan struct{}) http.Handler {
	mux := http.NewServeMux()
	for path, text := range static() {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html") // nobody believes it
			_, _ = io.WriteString(w, text)
		})
	}
	redirect := func(path, to string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
	}
	for path, to := range map[string]string{
		"/to/png": "/png", "/to/loop": "/to/loop", "/to/private": "http://10.0.0.1/png", "/to/meta": "http://169.254.169.254/", "/to/name": "http://ten.test/png",
		"/to/six": "http://[::1]/", "/to/mapped": "http://[::ffff:7f00:1]/", "/to/decimal": "http://2130706433/", "/to/file": "file:///etc/passwd",
		"/to/rebound": "http://rebound.test/png", "/to/port": "http://good.test:22/", "/to/script": "javascript:alert(1)",
	} {
		redirect(path, to)
	}
	wait := func(r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}
	handle := mux.HandleFunc
	handle("/slow-header", func(_ http.ResponseWriter, r *http.Request) { wait(r) })
	handle("/slow-body", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(pngOf(1)[:20])
		w.(http.Flusher).Flush()
		wait(r)
	})
	handle("/drip", func(w http.ResponseWriter, r *http.Request) {
		for _, b := range pngOf(1) {
			_, _ = w.Write([]byte{b})
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	handle("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(bytes.Repeat([]byte("\x89PNG"), 1024)); err != nil {
				return
			}
		}
	})
	handle("/longer", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5000")
		_, _ = w.Write(pngOf(1))
	})
	handle("/vast", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "99999999999") })
	handle("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(zipped(pngOf(1)))
	})
	// 32 MiB, of one gzip member many times: compressing all of it takes the race detector seconds
	bomb := bytes.Repeat(zipped(make([]byte, 1<<20)), 32)
	handle("/gzip-bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb)
	})
	handle("/gzip-not", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(pngOf(1))
	})
	handle("/brotli", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = w.Write(pngOf(1))
	})
	handle("/reset", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		_ = conn.Close()
	})
	handle("/garbage", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		_, _ = conn.Write([]byte("\x16\x03\x01\x00\r\n\r\n"))
		_ = conn.Close()
	})
	handle("/header-bomb", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("a", 100<<10)) })
	for path, status := range map[string]int{"/404": 404, "/410": 410, "/403": 403, "/500": 500, "/429": 429, "/503": 503, "/206": 206, "/204": 204} {
		handle(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
			if status != 204 {
				_, _ = w.Write(pngOf(1)) // the right bytes with the wrong status
			}
		})
	}
	handle("/ipfs/", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Host == "ipfs.test" && strings.HasSuffix(r.URL.Path, "/half"):
			_, _ = w.Write(pngOf(1)[:40])
		case r.Host == "ipfs.test":
			_, _ = io.WriteString(w, "<html>Checking your browser</html>")
		default:
			_, _ = w.Write(pngOf(1))
		}
	})
	handle("/{id}", func(w http.ResponseWriter, r *http.Request) {
		if len(r.PathValue("id")) == 43 {
			_, _ = w.Write(pngOf(4))
			return
		}
		http.NotFound(w, r)
	})
	return mux
}

func dataURI(kind string, body []byte) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(body)
}

const (
	aCID = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbDG"
	aTX  = "sHx9JTNDbKhRQ2jBYzX8iX1Kj0Tt3Wd2aBcDeFgHiJk"
	// of "hello world", which no gateway here has
	rawCID = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
)

// hostileCases are URLs and what comes of them.
func hostileCases() map[string]fetch.Class {
	const host = "http://good.test"
	cases := map[string]fetch.Class{
		"ipfs://" + aCID: fetch.ClassOK, "ipfs://" + aCID + "/half": fetch.ClassOK, aCID: fetch.ClassOK, "ar://" + aTX: fetch.ClassOK,
		"https://arweave.net/" + aTX: fetch.ClassOK, "http://dead.test/ipfs/" + aCID: fetch.ClassOK, "ipfs://" + rawCID: fetch.ClassWrongContent,
		"data:image/svg+xml;utf8," + svgHead + "</svg>": fetch.ClassOK, dataURI("image/png", pngOf(9)): fetch.ClassOK,
		dataURI("image/png", []byte("<script>")): fetch.ClassNotImage, "data:text/html,<script>alert(1)</script>": fetch.ClassNotImage,
		"http://six.test/png": fetch.ClassOK, "http://mixed.test/png": fetch.ClassOK, "//good.test/png": fetch.ClassTLS,
		"https://good.test/png": fetch.ClassTLS, "https://good.test:8443/png": fetch.ClassTLS, "https://good.test:8444/png": fetch.ClassTLS,
		"http://good.test:4444/png": fetch.ClassConnection, "http://nowhere.test/png": fetch.ClassDNS,
		"http://127.0.0.1/png": fetch.ClassRefusedAddress, "http://[::1]/png": fetch.ClassRefusedAddress, "http://[::ffff:10.0.0.1]/png": fetch.ClassRefusedAddress,
		"http://169.254.169.254/latest/meta-data/": fetch.ClassRefusedAddress, "http://2130706433/png": fetch.ClassBadURL, "http://0177.0.0.1/png": fetch.ClassBadURL,
		"http://0x7f.1/png": fetch.ClassBadURL, "http://user:pass@good.test/png": fetch.ClassBadURL, "ftp://good.test/png": fetch.ClassBadURL,
		"file:///etc/passwd": fetch.ClassBadURL, "javascript:alert(1)": fetch.ClassBadURL, "": fetch.ClassBadURL, "http://good.test:25/png": fetch.ClassBadURL,
		host + "/png\r\nHost: evil.test": fetch.ClassHTTPStatus, // a path without line breaks
	}
	for _, name := range []string{"ten", "loop", "meta", "mapped", "nat64", "ula", "zero", "cgnat", "rebound"} {
		cases["http://"+name+".test/png"] = fetch.ClassRefusedAddress
	}
	for class, paths := range map[fetch.Class]string{
		fetch.ClassOK:             "png jpeg gif svg svg-script svg-onload svg-foreign svg-external polyglot-html polyglot-zip gzip to/png",
		fetch.ClassNotImage:       "html json-error empty text xml-error bmp svgz",
		fetch.ClassBadImage:       "cut cut-end bit signature no-pixels polyglot-gif svg-laughs svg-file svg-cut avif-fake webp-fake",
		fetch.ClassImageBounds:    "bomb-pixels bomb-line svg-deep",
		fetch.ClassTooLarge:       "large endless vast gzip-bomb",
		fetch.ClassTimeout:        "slow-header slow-body drip",
		fetch.ClassConnection:     "longer reset garbage header-bomb",
		fetch.ClassBadEncoding:    "gzip-not brotli",
		fetch.ClassHTTPStatus:     "404 410 403 500 429 503 206 204",
		fetch.ClassRedirects:      "to/loop",
		fetch.ClassRefusedAddress: "to/private to/meta to/name to/six to/mapped to/rebound",
		fetch.ClassBadURL:         "to/decimal to/file to/port to/script",
	} {
		for _, path := range strings.Fields(paths) {
			cases[host+"/"+path] = class
		}
	}
	return cases
}

func TestTheHostileWeb(t *testing.T) {
	servers := newServers(t)
	cases := hostileCases()
	require.GreaterOrEqual(t, len(cases), 60)
	for url, want := range cases {
		patience := 10 * time.Minute // decoders take long under the race detector on a busy machine
		if want == fetch.ClassTimeout {
			patience = 200 * time.Millisecond
		}
		// a new one for each, so that no host is down because of another case
		w := newHostileWeb(t, servers, patience)
		image, err := w.Load(context.Background(), Request{URL: url})
		require.Equal(t, want, fetch.ClassOf(err), "%.80s: %v", url, err)
		for _, address := range w.dialed {
			require.True(t, fetch.Public(address), "%.80s: a connection to %s", url, address)
		}
		if want != fetch.ClassOK {
			require.Nil(t, image)
			continue
		}
		blob, ok := w.store.Get(image.Key)
		require.True(t, ok, url)
		require.Equal(t, image.Type, blob.Type)
		require.Equal(t, image.Type, picture.Sniff(blob.Body))
		named, ok := w.store.Lookup(url)
		require.True(t, ok)
		require.Equal(t, image.Key, named.Key)
	}
}

// The name's answer changes after it was checked: the connection goes to what was checked, and the
// next one is refused.
func TestARebindingName(t *testing.T) {
	w := newHostileWeb(t, newServers(t), time.Minute)
	_, err := w.Load(context.Background(), Request{URL: "http://rebind.test/png"})
	require.NoError(t, err)
	w.deps.Fetcher.(*fetch.Fetcher).Close()
	_, err = w.Load(context.Background(), Request{URL: "http://rebind.test/jpeg"})
	require.Equal(t, fetch.ClassRefusedAddress, fetch.ClassOf(err))
	require.Equal(t, at(publicAddress), w.dialed)
}
