package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gen2brain/avif"
	"github.com/gen2brain/webp"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/draw"
)

// painted is a picture with shapes in it, so that it has a hash of its own.
func painted(width, height int, seed byte) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			shade := byte(255 * x / width)
			if (x*8/width+y*8/height+int(seed))%3 == 0 {
				shade = 255 - shade
			}
			out.Set(x, y, color.RGBA{shade, byte(255 * y / height), seed, 255})
		}
	}
	return out
}

func encoded(t testing.TB, encode func(*bytes.Buffer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, encode(&out))
	return out.Bytes()
}

func asPNG(t testing.TB, picture image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, picture) })
}

func asJPEG(t testing.TB, picture image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, picture, nil) })
}

func asWebP(t testing.TB, picture image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return webp.Encode(b, picture, webp.Options{Quality: 90}) })
}

// asAVIF is slow to make, so it is made once.
var asAVIF = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	if err := avif.Encode(&out, painted(64, 48, 1)); err != nil {
		panic(err)
	}
	return out.Bytes()
})

func asGIF(t testing.TB, frames int) []byte {
	animation := &gif.GIF{}
	for i := range frames {
		frame := image.NewPaletted(image.Rect(0, 0, 64, 48), color.Palette{color.White, color.Black, color.RGBA{byte(i), 200, 0, 255}})
		draw.Draw(frame, frame.Bounds(), painted(64, 48, byte(i)), image.Point{}, draw.Src)
		animation.Image, animation.Delay = append(animation.Image, frame), append(animation.Delay, 10)
	}
	return encoded(t, func(b *bytes.Buffer) error { return gif.EncodeAll(b, animation) })
}

// asAnimatedWebP puts the chunks of still pictures into frames.
func asAnimatedWebP(t testing.TB, width, height int, stills ...[]byte) []byte {
	var frames bytes.Buffer
	put := func(dst *bytes.Buffer, name string, payload []byte) {
		dst.WriteString(name)
		require.NoError(t, binary.Write(dst, binary.LittleEndian, uint32(len(payload))))
		dst.Write(payload)
		if len(payload)%2 == 1 {
			dst.WriteByte(0)
		}
	}
	size := func(n int) []byte { return []byte{byte(n - 1), byte((n - 1) >> 8), byte((n - 1) >> 16)} }
	put(&frames, "VP8X", append(append([]byte{2, 0, 0, 0}, size(width)...), size(height)...))
	put(&frames, "ANIM", make([]byte, 6))
	for _, still := range stills {
		frame := append([]byte{0, 0, 0, 0, 0, 0}, size(64)...)
		frame = append(append(frame, size(48)...), 100, 0, 0, 0)
		parts, err := chunks(still[12:])
		require.NoError(t, err)
		var inner bytes.Buffer
		for _, part := range parts {
			if part.name != "VP8X" {
				put(&inner, part.name, part.payload)
			}
		}
		put(&frames, "ANMF", append(frame, inner.Bytes()...))
	}
	out := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(frames.Len()+4))...)
	return append(append(out, "WEBP"...), frames.Bytes()...)
}

// pngHeader is a PNG that promises a size and holds nothing.
func pngHeader(width, height uint32) []byte {
	header := []byte("IHDR")
	header = binary.BigEndian.AppendUint32(header, width)
	header = binary.BigEndian.AppendUint32(header, height)
	header = append(header, 8, 6, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	out = append(out, header...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(header))
}

const circle = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 32"><circle cx="9" cy="9" r="9"/></svg>`

func TestInspect(t *testing.T) {
	translucent := image.NewNRGBA(image.Rect(0, 0, 64, 48))
	draw.Draw(translucent, translucent.Bounds(), painted(64, 48, 1), image.Point{}, draw.Src)
	translucent.SetNRGBA(3, 3, color.NRGBA{1, 2, 3, 100})
	still := asWebP(t, painted(64, 48, 1))
	whole := asPNG(t, painted(64, 48, 1))
	for name, test := range map[string]struct {
		body   []byte
		want   Info
		failed error
	}{
		"png":                       {whole, Info{Type: PNG, Width: 64, Height: 48}, nil},
		"jpeg":                      {asJPEG(t, painted(64, 48, 1)), Info{Type: JPEG, Width: 64, Height: 48}, nil},
		"gif":                       {asGIF(t, 1), Info{Type: GIF, Width: 64, Height: 48}, nil},
		"animated gif":              {asGIF(t, 3), Info{Type: GIF, Width: 64, Height: 48, Animated: true}, nil},
		"webp":                      {still, Info{Type: WebP, Width: 64, Height: 48}, nil},
		"webp with alpha":           {asWebP(t, translucent), Info{Type: WebP, Width: 64, Height: 48}, nil},
		"animated webp":             {asAnimatedWebP(t, 64, 48, still, still), Info{Type: WebP, Width: 64, Height: 48, Animated: true}, nil},
		"animated webp with alpha":  {asAnimatedWebP(t, 64, 48, asWebP(t, translucent)), Info{Type: WebP, Width: 64, Height: 48, Animated: true}, nil},
		"animated webp, vast":       {asAnimatedWebP(t, 16000, 16000, still), Info{}, ErrBounds},
		"avif":                      {asAVIF(), Info{Type: AVIF, Width: 64, Height: 48}, nil},
		"svg":                       {[]byte(circle), Info{Type: SVG, Width: 64, Height: 32}, nil},
		"svg with declaration":      {[]byte("\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- c --><!DOCTYPE svg PUBLIC \"a\" \"b\">" + circle), Info{Type: SVG, Width: 64, Height: 32}, nil},
		"svg with entities":         {[]byte(`<!DOCTYPE svg [<!ENTITY ns "http://www.w3.org/2000/svg">]><svg xmlns="&ns;" width="8px" height="9"/>`), Info{Type: SVG, Width: 8, Height: 9}, nil},
		"svg with script":           {[]byte(`<svg xmlns="http://www.w3.org/2000/svg" width="1e9"><script>alert(1)</script></svg>`), Info{Type: SVG}, nil},
		"svg in latin 1":            {[]byte("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><svg xmlns=\"http://www.w3.org/2000/svg\"><text>\xe9</text></svg>"), Info{Type: SVG}, nil},
		"png with a page behind it": {append(bytes.Clone(whole), "<html><script>alert(1)</script>"...), Info{Type: PNG, Width: 64, Height: 48}, nil},

		"nothing":                  {nil, Info{}, ErrNotImage},
		"html":                     {[]byte("<!DOCTYPE html><html>"), Info{}, ErrNotImage},
		"html that has an svg":     {[]byte("<html><svg></svg></html>"), Info{}, ErrNotImage},
		"text":                     {[]byte("not found"), Info{}, ErrNotImage},
		"json":                     {[]byte(`{"error":"x"}`), Info{}, ErrNotImage},
		"bmp":                      {[]byte("BM123456"), Info{}, ErrNotImage},
		"gif signature and script": {[]byte("GIF89a\x01\x00\x01\x00/*<script>alert(1)</script>*/=1;"), Info{}, ErrBroken},
		"png, half":                {whole[:len(whole)/2], Info{}, ErrBroken},
		"png, one bit off":         {append(append(bytes.Clone(whole[:60]), whole[60]^1), whole[61:]...), Info{}, ErrBroken},
		"png bomb":                 {pngHeader(60_000, 60_000), Info{}, ErrBounds},
		"png, long and thin":       {pngHeader(200_000, 1), Info{}, ErrBounds},
		"png without pixels":       {pngHeader(0, 5), Info{}, ErrBroken},
		"png signature":            {[]byte("\x89PNG\r\n\x1a\n"), Info{}, ErrBroken},
		"jpeg, half":               {asJPEG(t, painted(200, 200, 1))[:900], Info{}, ErrBroken},
		"webp, half":               {still[:len(still)/2], Info{}, ErrBroken},
		"avif, half":               {asAVIF()[:len(asAVIF())/2], Info{}, ErrBroken},
		"avif, a track too wide":   {slices.Concat(asAVIF(), []byte("\x00\x00\x00\x5ctkhd"), make([]byte, 76), []byte{0x4e, 0x20, 0, 0, 0, 1, 0, 0}), Info{}, ErrBounds},
		"svg, half":                {[]byte(circle[:60]), Info{}, ErrBroken},
		"svg of another namespace": {[]byte(`<svg xmlns="http://www.w3.org/1999/xhtml"></svg>`), Info{}, ErrBroken},
		"svg, billion laughs":      {[]byte(`<!DOCTYPE svg [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><svg>&b;</svg>`), Info{}, ErrBroken},
		"svg with a file":          {[]byte(`<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]><svg>&a;</svg>`), Info{}, ErrBroken},
		"svg, deep":                {[]byte(strings.Repeat("<svg>", 300) + strings.Repeat("</svg>", 300)), Info{}, ErrBounds},
		"svg twice":                {[]byte(circle + circle), Info{}, ErrBroken},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Inspect(test.body, Limits{})
			require.ErrorIs(t, err, test.failed)
			got.PerceptualHash = nil
			require.Equal(t, test.want, got)
		})
	}
}

func hashOf(t *testing.T, body []byte) *uint64 {
	t.Helper()
	info, err := Inspect(body, Limits{})
	require.NoError(t, err)
	return info.PerceptualHash
}

func TestCopiesHaveNearHashes(t *testing.T) {
	original := painted(512, 512, 7)
	want := hashOf(t, asPNG(t, original))
	require.NotNil(t, want)
	small := image.NewRGBA(image.Rect(0, 0, 100, 100))
	draw.ApproxBiLinear.Scale(small, small.Bounds(), original, original.Bounds(), draw.Src, nil)
	for name, copied := range map[string][]byte{
		"jpeg": asJPEG(t, original), "smaller": asPNG(t, small), "smaller jpeg": asJPEG(t, small), "webp": asWebP(t, original),
	} {
		got := hashOf(t, copied)
		require.NotNil(t, got, name)
		require.LessOrEqual(t, bits.OnesCount64(*want^*got), 4, name)
	}
	other := hashOf(t, asPNG(t, painted(512, 512, 8)))
	require.Greater(t, bits.OnesCount64(*want^*other), 12, "another picture is far away")
	require.Nil(t, hashOf(t, asPNG(t, image.NewRGBA(image.Rect(0, 0, 50, 50)))), "one colour is nobody's picture")
}

func TestVariants(t *testing.T) {
	wide := asPNG(t, painted(400, 100, 3))
	jpg := asJPEG(t, painted(400, 300, 3))
	for name, test := range map[string]struct {
		body          []byte
		kind          string
		variant       Variant
		want          string
		width, height int
	}{
		"as it is":             {wide, PNG, Variant{}, PNG, 400, 100},
		"smaller":              {wide, PNG, Variant{Size: 128}, PNG, 128, 32},
		"never larger":         {wide, PNG, Variant{Size: 512}, PNG, 400, 100},
		"another format":       {wide, PNG, Variant{Type: WebP}, WebP, 400, 100},
		"both":                 {jpg, JPEG, Variant{Size: 64, Type: WebP}, WebP, 64, 48},
		"jpeg stays":           {jpg, JPEG, Variant{Size: 64}, JPEG, 64, 48},
		"jpeg to png":          {jpg, JPEG, Variant{Size: 64, Type: PNG}, PNG, 64, 48},
		"the first of a gif":   {asGIF(t, 3), GIF, Variant{Size: 32}, PNG, 32, 24},
		"a moving one, still":  {asAnimatedWebP(t, 64, 48, asWebP(t, painted(64, 48, 1))), WebP, Variant{Size: 64}, WebP, 64, 48},
		"avif becomes png":     {asAVIF(), AVIF, Variant{Size: 32}, PNG, 32, 24},
		"avif as webp":         {asAVIF(), AVIF, Variant{Type: WebP}, WebP, 64, 48},
		"svg scales by itself": {[]byte(circle), SVG, Variant{Size: 32, Type: PNG}, SVG, 64, 32},
	} {
		out, kind, err := Make(test.body, test.kind, test.variant, Limits{})
		require.NoError(t, err, name)
		info, err := Inspect(out, Limits{})
		require.NoError(t, err, name)
		require.Equal(t, test.want, kind, name)
		require.Equal(t, []any{test.want, test.width, test.height, false}, []any{info.Type, info.Width, info.Height, info.Animated}, name)
	}
	for asked, want := range map[int]int{-1: 0, 0: 0, 1: 32, 32: 32, 33: 48, 100: 128, 512: 512, 9999: 512} {
		require.Equal(t, want, BoxSize(asked))
	}
	_, _, err := Make(pngHeader(60_000, 60_000), PNG, Variant{Size: 32}, Limits{})
	require.ErrorIs(t, err, ErrBounds)
}

// A phone's photograph lies on its side and says so.
func TestVariantsAreUpright(t *testing.T) {
	picture := image.NewRGBA(image.Rect(0, 0, 64, 32))
	// white on the left
	draw.Draw(picture, image.Rect(0, 0, 32, 32), image.NewUniform(color.White), image.Point{}, draw.Src)
	exif := append([]byte("Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00"), 0x12, 0x01, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0)
	body := asJPEG(t, picture)
	marked := append([]byte{0xff, 0xd8, 0xff, 0xe1, 0, byte(len(exif) + 2)}, exif...)
	marked = append(marked, body[2:]...)
	require.Equal(t, 6, orientation(marked))
	out, _, err := Make(marked, JPEG, Variant{Type: PNG}, Limits{})
	require.NoError(t, err)
	turned, err := png.Decode(bytes.NewReader(out))
	require.NoError(t, err)
	require.Equal(t, image.Rect(0, 0, 32, 64), turned.Bounds())
	light := func(x, y int) bool { r, _, _, _ := turned.At(x, y).RGBA(); return r > 0x8000 }
	require.True(t, light(16, 8), "what was left is above")
	require.False(t, light(16, 56))
}

func FuzzInspect(f *testing.F) {
	still := asWebP(f, painted(64, 48, 1))
	for _, seed := range [][]byte{
		asPNG(f, painted(8, 8, 1)), asJPEG(f, painted(16, 16, 1)), asGIF(f, 2), still, asAnimatedWebP(f, 64, 48, still), []byte(circle), pngHeader(1<<30, 1<<30),
		[]byte(`<!DOCTYPE svg [<!ENTITY a "b">]><svg>&a;</svg>`), asAVIF(),
		asBMP(f, painted(8, 8, 1)), asICO(asPNG(f, painted(8, 8, 1)), dib(9, 8, 1, 0)), asICO(dib(8, 8, 32, 0)), asICO(dib(8, 8, 8, 0)),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		limits := Limits{Pixels: 1 << 20}
		info, err := Inspect(body, limits)
		if err != nil {
			return
		}
		require.Equal(t, Sniff(body), info.Type)
		require.LessOrEqual(t, info.Width*info.Height, 1<<40)
		if info.Type == SVG {
			return
		}
		require.LessOrEqual(t, info.Width*info.Height, 1<<20)
		out, kind, err := Make(body, info.Type, Variant{Size: 32, Type: PNG}, limits)
		require.NoError(t, err, "what decodes can be made smaller")
		require.Equal(t, kind, Sniff(out))
	})
}

func BenchmarkMake(b *testing.B) {
	body := asPNG(b, painted(512, 512, 1))
	for name, variant := range map[string]Variant{"png64": {Size: 64}, "webp128": {Size: 128, Type: WebP}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := Make(body, PNG, variant, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
