package svg

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/hostileimages"
)

// anyRaster takes what begins like a PNG.
func anyRaster(body []byte) (string, int, error) {
	if !strings.HasPrefix(string(body), "\x89PNG") {
		return "", 0, nil
	}
	return "image/png", 100, nil
}

var config = Config{Raster: anyRaster, Pixels: 1000}

func clean(t *testing.T, document string) string {
	t.Helper()
	drawing, err := Clean([]byte(document), config)
	require.NoError(t, err)
	return string(drawing.Body)
}

const root = `<svg xmlns="http://www.w3.org/2000/svg"`

// What drawing programs write stays as it is.
func TestGoodDrawingsStay(t *testing.T) {
	for name, document := range map[string]string{
		"shapes": root + ` viewBox="0 0 64 32" fill="none"><title>A &amp; B</title><circle cx="9" cy="9" r="9" fill="#f00"/><path d="M0 0 L1.5-2 3e5z" stroke-width=".5"/>` +
			`<g transform="translate(1,2) rotate(-45 8 8)" opacity="0.5" clip-rule="evenodd"><polygon points="1,2 3,4"/></g></svg>`,
		"gradients": root + `><defs><linearGradient id="a" x1="0%" gradientUnits="userSpaceOnUse" gradientTransform="matrix(1 0 0 1 -1 -2)"><stop offset="0" stop-color="#fff"/>` +
			`<stop offset="1" stop-color="rgba(0,0,0,.5)"/></linearGradient><radialGradient id="b" href="#a"/></defs><rect fill="url(#a)" stroke="url(#b)" width="1" height="1"/></svg>`,
		"uses": root + ` xmlns:xlink="http://www.w3.org/1999/xlink"><symbol id="s" viewBox="0 0 1 1"><path d="M0 0h1"/></symbol><use xlink:href="#s" x="1"/><use href="#s" x="2"/></svg>`,
		"a style": root + `><style>.cls-1{fill:#231f20}.cls-2,.cls-3{fill:url(#g);stroke:none}g .cls-1&gt;path:first-child{opacity:.5!important}#x,rect{isolation:isolate;mix-blend-mode:multiply}</style>` +
			`<linearGradient id="g"/><g id="x"><path class="cls-1" d="M0"/><path class="cls-2 cls-3"/></g></svg>`,
		"style attributes": root + `><path style="fill:#0d6efd;fill-rule:evenodd;stroke:url(#g);font-family:&quot;Open Sans&quot;,sans-serif" d="M0"/></svg>`,
		"media and frames": root + `><style>@media (prefers-color-scheme: dark){path{fill:#fff}}@keyframes spin{from{transform:rotate(0deg)}to{transform:rotate(360deg)}}path{animation:spin 1s linear infinite}</style><path/></svg>`,
		"variables":        root + `><style>:root{--main:#f00}path{fill:var(--main,red)}</style><path/></svg>`,
		"filters and masks": root + `><filter id="f" color-interpolation-filters="sRGB"><feFlood flood-opacity="0" result="b"/><feColorMatrix in="SourceAlpha" values="0 0 0 0 0"/>` +
			`<feGaussianBlur stdDeviation="2"/><feBlend in2="b"/></filter><mask id="m" style="mask-type:luminance"><rect fill="#fff"/></mask><clipPath id="c"><use href="#r"/></clipPath>` +
			`<g filter="url(#f)" mask="url(#m)" clip-path="url(#c)"><rect id="r"/></g></svg>`,
		"animation": root + `><circle r="4"><animate attributeName="r" values="4;8;4" dur="1s" repeatCount="indefinite"/><set attributeName="fill" to="red" begin="1s"/></circle>` +
			`<path d="M0"><animateTransform attributeName="transform" type="rotate" from="0 5 5" to="360 5 5" dur="2s"/></path></svg>`,
		"a pattern of a picture": root + `><pattern id="p" width="1" height="1" patternContentUnits="objectBoundingBox"><use href="#i" transform="scale(0.002)"/></pattern><rect fill="url(#p)"/>` +
			`<image id="i" width="500" height="500" href="data:image/png;base64,` + base64.StdEncoding.EncodeToString([]byte("\x89PNG")) + `"/></svg>`,
		"text":     root + `><text x="1" y="2" font-family="Arial" xml:space="preserve">Hi <tspan font-weight="bold">there</tspan> </text></svg>`,
		"a switch": root + `><switch><g systemLanguage="en"><path/></g><path/></switch></svg>`,
	} {
		require.Equal(t, document, clean(t, document), name)
	}
}

// What drawing programs add for themselves goes; the drawing stays.
func TestWhatProgramsAddGoes(t *testing.T) {
	illustrator := `<?xml version="1.0" encoding="utf-8"?>
<!-- Generator: Adobe Illustrator 19.0.0 -->
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd" [
	<!ENTITY ns_svg "http://www.w3.org/2000/svg">
	<!ENTITY ns_xlink "http://www.w3.org/1999/xlink">
	<!ENTITY ns_ai "http://ns.adobe.com/AdobeIllustrator/10.0/">
]>
<svg version="1.1" id="Layer_1" xmlns="&ns_svg;" xmlns:xlink="&ns_xlink;" xmlns:i="&ns_ai;" x="0px" viewBox="0 0 10 10" style="enable-background:new 0 0 10 10;" i:viewOrigin="1 2">
<style type="text/css"><![CDATA[
	.st0{fill:#FF7BAC;} /* pink */
	.st1{clip-path:url(#SVGID_2_);}
]]></style>
<switch><foreignObject requiredExtensions="&ns_ai;" x="0"><i:pgfRef xlink:href="#adobe_illustrator_pgf"/></foreignObject>
<g i:extraneous="self"><rect class="st0" width="10"/><defs><clipPath id="SVGID_2_"><use xlink:href="#Layer_2"  style="overflow:visible;"/></clipPath></defs></g></switch>
<i:pgf id="adobe_illustrator_pgf">eJzsvWl</i:pgf></svg>`
	require.Equal(t, root+` xmlns:xlink="http://www.w3.org/1999/xlink" version="1.1" id="Layer_1" x="0px" viewBox="0 0 10 10" style="enable-background:new 0 0 10 10">`+
		`<style type="text/css">.st0{fill:#FF7BAC}.st1{clip-path:url(#SVGID_2_)}</style><switch><g><rect class="st0" width="10"/><defs><clipPath id="SVGID_2_">`+
		`<use xlink:href="#Layer_2" style="overflow:visible"/></clipPath></defs></g></switch></svg>`, clean(t, illustrator))

	inkscape := `<svg:svg xmlns:svg="http://www.w3.org/2000/svg" xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape" width="5" height="5"><inkscape:grid/>
		<svg:metadata><a/></svg:metadata><svg:a href="https://example.org"><svg:path inkscape:label="x" d="M0
 1"/></svg:a></svg:svg>`
	require.Equal(t, root+` width="5" height="5"><g><path d="M0  1"/></g></svg>`, clean(t, inkscape))
	require.Equal(t, root+"><path/></svg>", clean(t, "<svg><path></path></svg>"), "without a namespace")
}

func TestTextOfOtherEncodings(t *testing.T) {
	want := root + "><text>é</text></svg>"
	require.Equal(t, want, clean(t, `<?xml version="1.0" encoding='ISO-8859-1' ?>`+root+"><text>\xe9</text></svg>"))
	require.Equal(t, want, clean(t, "\ufeff"+want))
	var utf16 strings.Builder
	for _, r := range "\ufeff<?xml version=\"1.0\" encoding=\"UTF-16\"?>" + want {
		utf16.Write([]byte{byte(r), byte(r >> 8)})
	}
	require.Equal(t, want, clean(t, utf16.String()))
}

func TestASizeIsRead(t *testing.T) {
	for attributes, want := range map[string][2]int{
		`width="8px" height="9"`: {8, 9}, `viewBox="0,0 64 31.5"`: {64, 32}, `width="100%" height="100%" viewBox="0 0 5 6"`: {5, 6}, `width="1e9"`: {0, 0}, "": {0, 0},
	} {
		drawing, err := Clean([]byte(root+" "+attributes+"/>"), config)
		require.NoError(t, err)
		require.Equal(t, want, [2]int{drawing.Width, drawing.Height}, attributes)
	}
}

func TestEmbeddedPicturesAreBounded(t *testing.T) {
	image := `<image href="data:image/jpeg;base64,iVBO Rw==&#10;"/>`
	require.Equal(t, root+`><image href="data:image/png;base64,iVBORw=="/></svg>`, clean(t, root+">"+image+"</svg>"), "its type is what it is")
	_, err := Clean([]byte(root+">"+strings.Repeat(image, 11)+"</svg>"), config)
	require.ErrorIs(t, err, ErrBounds)
	bad := errors.New("bad")
	_, err = Clean([]byte(root+">"+image+"</svg>"), Config{Raster: func([]byte) (string, int, error) { return "", 0, bad }})
	require.ErrorIs(t, err, bad)
}

var (
	fence       = regexp.MustCompile(`(?i)<\s*(script|foreignobject|iframe|a|feimage|handler|metadata|image [^>]*svg)\b|<[^>]*\son[a-z]+\s*=|javascript:|<!|<\?|@import|\\`)
	anyHref     = regexp.MustCompile(`href="([^"]*)"`)
	anyURL      = regexp.MustCompile(`(?i)url\(\s*(?:&quot;|')?(.?)`)
	allowedHref = regexp.MustCompile(`^(#|data:image/(png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=]*$)`)
)

// requireSafe looks at a clean document with other eyes than the cleaner's.
func requireSafe(t *testing.T, body []byte) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(string(body)))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, "%q", body)
		switch token := token.(type) {
		case xml.StartElement:
			require.True(t, elements[token.Name.Local] && token.Name.Space == Namespace, "%v", token.Name)
			for _, a := range token.Attr {
				require.False(t, strings.HasPrefix(strings.ToLower(a.Name.Local), "on"), "%v", a)
				require.NotRegexp(t, `(?i)^\s*(javascript|vbscript)`, a.Value)
				if a.Name.Local == "style" || strings.Contains(a.Value, "(") && a.Name.Local != "class" {
					require.NotContains(t, a.Value, `\`)
					for _, m := range anyURL.FindAllStringSubmatch(a.Value, -1) {
						require.Equal(t, "#", m[1], "%v", a)
					}
				}
			}
		case xml.Directive, xml.ProcInst, xml.Comment:
			require.Fail(t, "not only elements", "%q", body)
		}
	}
	for _, m := range anyHref.FindAllSubmatch(body, -1) {
		require.Regexp(t, allowedHref, string(m[1]))
	}
}

func TestHostileDrawingsAreSafe(t *testing.T) {
	for _, hostile := range hostileimages.Drawings() {
		drawing, err := Clean(hostile.Body, config)
		if err != nil {
			continue
		}
		requireSafe(t, drawing.Body)
		require.NotRegexp(t, fence, string(drawing.Body), hostile.Name)
	}
}

func FuzzClean(f *testing.F) {
	for _, hostile := range hostileimages.Drawings() {
		if len(hostile.Body) < 4<<10 {
			f.Add(hostile.Body)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		drawing, err := Clean(body, config)
		if err != nil {
			require.True(t, errors.Is(err, ErrBroken) || errors.Is(err, ErrBounds), "%v", err)
			return
		}
		requireSafe(t, drawing.Body)
		again, err := Clean(drawing.Body, config)
		require.NoError(t, err, "%q", drawing.Body)
		require.Equal(t, string(drawing.Body), string(again.Body), "what is clean stays as it is")
	})
}

func FuzzStyle(f *testing.F) {
	for _, text := range []string{"a{fill:red}", "@media x{a{b:c}}", `a{fill:url("#x")}`, "@keyframes k{from{x:1}}", `\75rl(x)`, "a{--b:var(--c)}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		made, err := cleanSheet(text)
		if err != nil {
			return
		}
		require.NotContains(t, made.text, `\`)
		require.NotContains(t, made.text, "<")
		require.NotContains(t, strings.ToLower(made.text), "@import")
		for _, m := range anyURL.FindAllStringSubmatch(made.text, -1) {
			require.Contains(t, []string{"#", `"`}, m[1], "%q of %q", made.text, text)
		}
		again, err := cleanSheet(made.text)
		require.NoError(t, err)
		require.Equal(t, made.text, again.text)
	})
}
