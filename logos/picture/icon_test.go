package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"
)

func asBMP(t testing.TB, picture image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, bmp.Encode(&out, picture))
	return out.Bytes()
}

// asICO makes an ICO of pictures.
func asICO(pictures ...[]byte) []byte {
	header := []byte{0, 0, 1, 0, byte(len(pictures)), 0}
	offset := 6 + iconEntry*len(pictures)
	var data []byte
	for _, picture := range pictures {
		entry := make([]byte, iconEntry)
		binary.LittleEndian.PutUint32(entry[8:], uint32(len(picture)))
		binary.LittleEndian.PutUint32(entry[12:], uint32(offset+len(data)))
		header, data = append(header, entry...), append(data, picture...)
	}
	return append(header, data...)
}

// dib is a DIB of an icon: red above, blue below, its left half masked. Of depth 32, alpha is the
// alpha channel of all pixels.
func dib(width, height, depth int, alpha byte) []byte {
	out := make([]byte, infoHeader)
	binary.LittleEndian.PutUint32(out, infoHeader)
	binary.LittleEndian.PutUint32(out[4:], uint32(width))
	binary.LittleEndian.PutUint32(out[8:], uint32(2*height))
	out[12], out[14] = 1, byte(depth)
	if depth <= 8 {
		palette := make([]byte, 4<<depth)
		copy(palette, []byte{0, 0, 255, 0, 255, 0, 0, 0})
		out = append(out, palette...)
	}
	rowBytes := (width*depth + 31) / 32 * 4
	for y := range height {
		row := make([]byte, rowBytes)
		blue := y < height/2 // rows come from the bottom
		for x := range width {
			switch at := x * depth / 8; {
			case depth >= 24 && blue:
				row[at] = 255
			case depth >= 24:
				row[at+2] = 255
			case blue:
				row[at] |= 1 << (8 - depth - x*depth%8)
			}
			if depth == 32 {
				row[x*4+3] = alpha
			}
		}
		out = append(out, row...)
	}
	for range height {
		mask := make([]byte, (width+31)/32*4)
		for x := range width / 2 {
			mask[x/8] |= 0x80 >> (x % 8)
		}
		out = append(out, mask...)
	}
	return out
}

func TestBitmapsAndIcons(t *testing.T) {
	small, large := asPNG(t, painted(16, 16, 1)), asPNG(t, painted(48, 48, 1))
	gap := asBMP(t, painted(20, 10, 1))
	gap = append(gap[:14+infoHeader:14+infoHeader], append(make([]byte, 10), gap[14+infoHeader:]...)...)
	binary.LittleEndian.PutUint32(gap[10:], 14+infoHeader+10)
	for name, c := range map[string]struct {
		body          []byte
		kind          string
		width, height int
	}{
		"bmp":                {asBMP(t, painted(20, 10, 1)), BMP, 20, 10},
		"paletted bmp":       {asBMP(t, image.NewPaletted(image.Rect(0, 0, 20, 10), color.Palette{color.White, color.Black})), BMP, 20, 10},
		"bmp with a gap":     {gap, BMP, 20, 10},
		"icon of a png":      {asICO(large), ICO, 48, 48},
		"the largest counts": {asICO(small, dib(32, 32, 24, 0), large, small), ICO, 48, 48},
		"icon of 1 bit":      {asICO(dib(32, 32, 1, 0)), ICO, 32, 32},
		"icon of 4 bits":     {asICO(dib(17, 16, 4, 0)), ICO, 17, 16},
		"icon of 8 bits":     {asICO(dib(31, 16, 8, 0)), ICO, 31, 16},
		"icon of 24 bits":    {asICO(dib(15, 16, 24, 0)), ICO, 15, 16},
		"icon of 32 bits":    {asICO(dib(16, 16, 32, 255)), ICO, 16, 16},
	} {
		info, err := Inspect(c.body, Limits{})
		require.NoError(t, err, name)
		require.Equal(t, []any{c.kind, c.width, c.height, false}, []any{info.Type, info.Width, info.Height, info.Animated}, name)
		pixels, err := Survey(c.body, Limits{})
		require.NoError(t, err, name)
		require.Equal(t, c.width*c.height, pixels, name)
		same, kind, err := Make(c.body, c.kind, Variant{}, Limits{})
		require.NoError(t, err, name)
		require.Equal(t, c.body, same, name)
		require.Equal(t, c.kind, kind, name)
		variant, kind, err := Make(c.body, c.kind, Variant{Size: 32}, Limits{})
		require.NoError(t, err, name)
		require.Equal(t, []string{PNG, PNG}, []string{kind, Sniff(variant)}, name)
	}
}

// TestIconsAreTransparent by their mask, or by their alpha channel if they have one.
func TestIconsAreTransparent(t *testing.T) {
	for _, c := range []struct {
		depth       int
		alpha       byte
		left, right uint8
	}{{1, 0, 0, 255}, {4, 0, 0, 255}, {8, 0, 0, 255}, {24, 0, 0, 255}, {32, 0, 0, 255}, {32, 128, 128, 128}} {
		out, _, err := Make(asICO(dib(16, 16, c.depth, c.alpha)), ICO, Variant{Type: PNG}, Limits{})
		require.NoError(t, err)
		decoded, err := png.Decode(bytes.NewReader(out))
		require.NoError(t, err)
		shown := image.NewNRGBA(decoded.Bounds())
		draw.Draw(shown, shown.Bounds(), decoded, image.Point{}, draw.Src)
		require.Equal(t, color.NRGBA{255, 0, 0, c.right}, shown.NRGBAAt(12, 2), "%d bits: red above", c.depth)
		require.Equal(t, color.NRGBA{0, 0, 255, c.right}, shown.NRGBAAt(12, 13), "%d bits: blue below", c.depth)
		require.Equal(t, c.left, shown.NRGBAAt(3, 2).A, "%d bits", c.depth)
	}
}

// TestHostileBitmaps are refused before anything is allocated for them.
func TestHostileBitmaps(t *testing.T) {
	changed := func(body []byte, at int, value uint32) []byte {
		body = bytes.Clone(body)
		binary.LittleEndian.PutUint32(body[at:], value)
		return body
	}
	plain, icon := asBMP(t, painted(20, 10, 1)), asICO(dib(16, 16, 24, 0))
	many := asICO(make([][]byte, 65)...)
	many = append(many, 0)
	for name, c := range map[string]struct {
		body []byte
		want error
	}{
		"wide bmp": {changed(plain, 18, 1<<30), ErrBounds}, "high bmp": {changed(plain, 22, 1<<30), ErrBounds}, "top-down high bmp": {changed(plain, 22, 1<<31+1), ErrBounds},
		"least height": {changed(plain, 22, 1<<31), ErrBounds}, "negative width": {changed(plain, 18, 1<<31+1), ErrBroken}, "no width": {changed(plain, 18, 0), ErrBroken},
		"cut off": {plain[:100], ErrBroken}, "promises more": {changed(changed(plain, 18, 4000), 22, 4000), ErrBroken}, "far pixels": {changed(plain, 10, 1<<32-1), ErrBroken},
		"palette": {changed(plain, 46, 1<<32-1), nil}, "depth 64": {changed(plain, 28, 64), ErrBroken}, "compressed": {changed(plain, 30, 1), ErrBroken}, "depth 0": {changed(plain, 28, 0), ErrBroken},
		"wide icon": {changed(icon, 6+16+4, 1<<30), ErrBounds}, "high icon": {changed(icon, 6+16+8, 1<<30), ErrBounds}, "icon behind the end": {changed(icon, 18, 1<<32-1), ErrNotImage},
		"icon too long": {changed(icon, 14, 1<<32-1), ErrBroken}, "icon in its directory": {changed(icon, 18, 3), ErrNotImage}, "icon without height": {changed(icon, 6+16+8, 1), ErrBroken},
		"icon of a huge png": {asICO(pngHeader(60_000, 60_000)), ErrBounds}, "icon of an icon": {asICO(icon), ErrBroken}, "icon of a text": {asICO([]byte("<html>")), ErrBroken},
		"one of two is broken": {asICO(dib(16, 16, 24, 0), []byte("x")), ErrBroken}, "no icons": {[]byte{0, 0, 1, 0, 0, 0}, ErrNotImage},
		"a cursor": {append([]byte{0, 0, 2, 0}, icon[4:]...), ErrNotImage}, "many icons": {many, ErrBounds},
	} {
		var err error
		taken := allocated(func() { _, err = Inspect(c.body, Limits{}) })
		require.ErrorIs(t, err, c.want, name)
		require.Less(t, taken, uint64(4<<20), name)
	}
}

func FuzzBitmap(f *testing.F) {
	for _, seed := range [][]byte{
		asBMP(f, painted(8, 8, 1)), asBMP(f, image.NewPaletted(image.Rect(0, 0, 9, 3), color.Palette{color.White, color.Black})),
		asICO(asPNG(f, painted(8, 8, 1)), dib(9, 8, 1, 0)), asICO(dib(8, 8, 32, 0)), asICO(dib(8, 8, 8, 0)), asICO(dib(5, 5, 4, 0)), asICO(dib(5, 5, 24, 0)),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		limits := Limits{Pixels: 1 << 16}.withDefaults()
		var decoded image.Image
		var err error
		switch Sniff(body) {
		case BMP:
			decoded, err = decodeBMP(body, limits)
		case ICO:
			decoded, err = decodeICO(body, limits)
		default:
			return
		}
		if err != nil {
			return
		}
		found, err := survey(body, Sniff(body), limits)
		require.NoError(t, err)
		require.Equal(t, image.Pt(found.width, found.height), decoded.Bounds().Size())
		require.LessOrEqual(t, found.pixels(), 1<<16)
	})
}
