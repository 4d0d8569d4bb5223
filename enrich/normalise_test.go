package enrich

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func normal(t *testing.T, body string) *eventspb.OffchainMetadata {
	t.Helper()
	document, err := normalise("u", []byte(body))
	require.NoError(t, err, body)
	require.Equal(t, "u", string(document.GetUri()))
	document.Uri = nil
	return document
}

func TestNormalise(t *testing.T) {
	type want = eventspb.OffchainMetadata
	for name, test := range map[string]struct {
		body string
		want *want
	}{
		"pump.fun": {
			`{"name":"Dog","symbol":"DOG","description":"much","image":"https://ipfs.io/ipfs/Qm","showName":true,"createdOn":"https://pump.fun",
			  "twitter":"https://x.com/dog","telegram":"https://t.me/dog","website":"https://dog.test"}`,
			&want{
				Name: "Dog", Symbol: "DOG", Description: "much", Image: "https://ipfs.io/ipfs/Qm",
				Extensions: map[string]string{"twitter": "https://x.com/dog", "telegram": "https://t.me/dog", "website": "https://dog.test"},
			},
		},
		"nested extensions win over the top level": {
			`{"website":"https://top.test","extensions":{"website":"https://nested.test","discord":"x","n":1,"b":true,"z":null,"o":{"a":"b"},"e":""}}`,
			&want{Extensions: map[string]string{"website": "https://nested.test", "discord": "x"}},
		},
		"wrong types everywhere": {
			`{"name":420,"symbol":{"a":1},"description":["x"],"image":7,"external_url":false,"extensions":"x","tags":{"a":1},"properties":[],"twitter":["x"]}`,
			&want{Name: "420"},
		},
		"huge numbers":            {`{"name":123456789012345678901234567890,"symbol":1e999}`, &want{Name: "123456789012345678901234567890", Symbol: "1e999"}},
		"null document members":   {`{"name":null,"image":null,"extensions":null,"tags":null,"properties":null}`, &want{}},
		"empty":                   {`{}`, &want{}},
		"a list of one":           {`[{"name":"x"}]`, &want{Name: "x"}},
		"duplicate members":       {`{"name":"a","name":"b"}`, &want{Name: "b"}},
		"padding and controls":    {`{"name":" \u0000a\u0007b \n","symbol":"\u0000\u0000"}`, &want{Name: "ab"}},
		"line breaks are kept":    {`{"description":"a\nb\tc"}`, &want{Description: "a\nb\tc"}},
		"invalid UTF-8":           {"{\"name\":\"a\xffb\"}", &want{Name: "a\uFFFDb"}},
		"image in files":          {`{"properties":{"files":[{"uri":"https://a.test/v.mp4","type":"video/mp4"},{"uri":"https://a.test/i.png","type":"image/png"}]}}`, &want{Image: "https://a.test/i.png"}},
		"image in untyped files":  {`{"properties":{"files":["https://a.test/i.png"]}}`, &want{Image: "https://a.test/i.png"}},
		"image in properties":     {`{"properties":{"image":"ar://x"}}`, &want{Image: "ar://x"}},
		"image object":            {`{"image":{"uri":"https://a.test/i.png"}}`, &want{Image: "https://a.test/i.png"}},
		"image by another name":   {`{"image":"  ","logoURI":"https://a.test/l.png"}`, &want{Image: "https://a.test/l.png"}},
		"bare CID image":          {`{"image":"QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbDG"}`, &want{Image: "ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbDG"}},
		"image with spaces":       {`{"image":"https://a.test/my logo é.png"}`, &want{Image: "https://a.test/my%20logo%20%C3%A9.png"}},
		"link with spaces":        {`{"external_url":"https://a.test/a b"}`, &want{ExternalUrl: "https://a.test/a%20b"}},
		"data image":              {`{"image":"data:image/png;base64,AAAA"}`, &want{Image: "data:image/png;base64,AAAA"}},
		"data page is no image":   {`{"image":"data:text/html,<script>"}`, &want{}},
		"script is no link":       {`{"external_url":"javascript:alert(1)","image":"JavaScript:x","website":" java\u0000script:alert(1)","extensions":{"twitter":"data:text/html,x","vb":"vbscript:x"}}`, &want{}},
		"external_url":            {`{"external_url":" https://a.test/x "}`, &want{ExternalUrl: "https://a.test/x"}},
		"external_url, no scheme": {`{"external_url":"a.test"}`, &want{}},
		"externalUrl":             {`{"externalUrl":"http://a.test"}`, &want{ExternalUrl: "http://a.test"}},
		"tags":                    {`{"tags":["meme"," meme ","",1,null,"dog"]}`, &want{Tags: []string{"meme", "dog"}}},
		"tags as one string":      {`{"tags":"meme, dog,,"}`, &want{Tags: []string{"meme", "dog"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := normal(t, test.body)
			require.True(t, proto.Equal(test.want, got), "want %v\ngot  %v", test.want, got)
		})
	}
}

func TestNormaliseBounds(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	extensions, tags := map[string]string{"telegram": "https://t.me/kept"}, []string{}
	for i := range 1000 {
		extensions[fmt.Sprintf("a%04d", i)] = "v"
		tags = append(tags, fmt.Sprint("tag", i))
	}
	extensions["0long"] = long
	body, err := json.Marshal(map[string]any{
		"name": long, "symbol": long, "description": long, "image": "https://" + long, "external_url": "https://a.test/" + long,
		"extensions": extensions, "tags": append([]string{long}, tags...),
	})
	require.NoError(t, err)
	got := normal(t, string(body))
	require.Len(t, got.GetName(), 256)
	require.Len(t, got.GetSymbol(), 64)
	require.Len(t, got.GetDescription(), 4096)
	require.Empty(t, got.GetImage(), "half a URL is none")
	require.Empty(t, got.GetExternalUrl())
	require.Len(t, got.GetExtensions(), 32)
	require.Equal(t, "https://t.me/kept", got.GetExtensions()["telegram"], "well-known links are kept before all others")
	require.Equal(t, "v", got.GetExtensions()["a0000"])
	require.NotContains(t, got.GetExtensions(), "0long")
	require.Len(t, got.GetTags(), 32)
	require.True(t, proto.Equal(got, normal(t, string(body))), "the same document gives the same fact")
}

func TestNormaliseRefuses(t *testing.T) {
	for _, body := range []string{``, `"x"`, `1`, `null`, `[]`, `["x"]`, `{`, `<html>`, `[1,{"name":"x"}]`} {
		_, err := normalise("u", []byte(body))
		require.Equal(t, fetch.ClassNotJSON, fetch.ClassOf(err), body)
		require.False(t, fetch.Retryable(err))
	}
}

// TestTheFirstImageThatCanBeFetchedCounts: what is no URL hides nothing behind it.
func TestTheFirstImageThatCanBeFetchedCounts(t *testing.T) {
	const good = "https://a.test/i.png"
	for _, unusable := range []string{
		`"image.png"`, `"N/A"`, `""`, `" "`, `"null"`, `"undefined"`, `"-"`, `"none"`, `"./logo.png"`, `"/logo.png"`, `"../logo.png"`, `"www.a.test/i.png"`, `"https://"`, `"http:///"`,
		`"ipfs://"`, `"ipfs://undefined"`, `"ar://"`, `"ftp://a.test/i.png"`, `"file:///i.png"`, `"javascript:alert(1)"`, `"data:text/html,x"`, `"blob:https://a.test/1"`,
		`"https://user:secret@a.test/i.png"`, `"https://a.test:25/i.png"`, `"http://2130706433/"`, `"{{image}}"`, `"#"`, `"?"`, `"about:blank"`, `"C:\\logo.png"`, `7`, `null`, `true`,
		`{}`, `[]`, `{"uri":"N/A"}`, `["N/A"]`, `[["` + good + `"]]`, `{"uri":{"uri":"x"}}`, `"Qm"`, `"` + strings.Repeat("x", 3000) + `"`,
	} {
		for _, document := range []string{
			`{"image":%s,"image_url":"` + good + `"}`, `{"image":%s,"icon":"` + good + `"}`, `{"logo":%s,"logoURI":"` + good + `"}`,
			`{"image":%s,"properties":{"image":"` + good + `"}}`, `{"image":%s,"properties":{"files":["N/A",{"uri":"x"},{"uri":"` + good + `"}]}}`,
			`{"properties":{"image":%s,"files":[{"uri":"image.png","type":"image/png"},{"uri":"` + good + `","type":"image/png"}]}}`,
			`{"image":[%s,"` + good + `"]}`, `{"image":{"uri":%s,"url":"` + good + `"}}`,
		} {
			found, err := normalise("u", fmt.Appendf(nil, document, unusable))
			require.NoError(t, err)
			require.Equal(t, good, found.GetImage(), document, unusable)
		}
	}
	for image, want := range map[string]string{
		`"N/A"`: "", `"image.png"`: "", `"ipfs://undefined"`: "ipfs://undefined", `"https:\\\\a.test\\i.png"`: good, `"https:a.test/i.png"`: good, `["` + good + `"]`: good,
		`{"src":"` + good + `"}`: good, `"//a.test/i.png"`: "//a.test/i.png", `"https://a.test/100%.png"`: "https://a.test/100%25.png", `"htt\nps://a.test/i.png"`: good,
	} {
		found, err := normalise("u", []byte(`{"image":`+image+`}`))
		require.NoError(t, err)
		require.Equal(t, want, found.GetImage(), image)
	}
}

// TestDocumentsOfManyShapes take bounded time and memory, whatever their depth, width and numbers.
func TestDocumentsOfManyShapes(t *testing.T) {
	deep := func(open, shut string, n int) string {
		return strings.Repeat(open, n) + `"x"` + strings.Repeat(shut, n)
	}
	many := func(n int, f func(i int) string) string {
		var out strings.Builder
		for i := range n {
			out.WriteString(f(i) + ",")
		}
		return strings.TrimSuffix(out.String(), ",")
	}
	for name, document := range map[string]string{
		"white space":     strings.Repeat(" ", 900<<10) + `{"name":"Lake"` + strings.Repeat("\n", 90<<10) + `}`,
		"deep lists":      `{"name":"Lake","x":` + deep("[", "]", 9_000) + `}`,
		"deep objects":    `{"name":"Lake","x":` + deep(`{"a":`, "}", 9_000) + `}`,
		"deep image":      `{"name":"Lake","image":` + deep(`[`, "]", 9_000) + `}`,
		"wide object":     `{"name":"Lake","extensions":{` + many(50_000, func(i int) string { return fmt.Sprintf(`"k%d":"v"`, i) }) + `}}`,
		"wide list":       `{"name":"Lake","tags":[` + many(100_000, func(i int) string { return fmt.Sprintf(`"t%d"`, i) }) + `]}`,
		"many images":     `{"name":"Lake","image":[` + many(50_000, func(int) string { return `"N/A"` }) + `]}`,
		"many files":      `{"name":"Lake","properties":{"files":[` + many(50_000, func(int) string { return `{"uri":"N/A"}` }) + `]}}`,
		"repeated names":  `{` + many(50_000, func(int) string { return `"name":"x"` }) + `,"name":"Lake"}`,
		"huge numbers":    `{"name":"Lake","symbol":1e999,"decimals":-1e-999,"x":` + strings.Repeat("9", 100_000) + `}`,
		"control in text": `{"name":"L\u0000a\u001bk\u009be"}`,
		"lone surrogates": `{"name":"Lake","symbol":"\ud800","description":"\udc00\ud800"}`,
	} {
		require.Less(t, len(document), 1<<20+1<<18, name)
		found, err := normalise("u", []byte(document))
		require.NoError(t, err, name)
		require.Equal(t, "Lake", found.GetName(), name)
		require.LessOrEqual(t, len(found.GetTags()), maxTags)
		require.LessOrEqual(t, len(found.GetExtensions()), maxExtensions)
		_, err = proto.Marshal(found)
		require.NoError(t, err, name)
	}
	for _, refused := range []string{deep("[", "]", 20_000), `{"a":` + deep("[", "]", 20_000) + `}`, `{"name":1e}`, `{"name":"x"`, `{"a":01}`, "{\x00}", `{"a":NaN}`, `{"a":Infinity}`} {
		_, err := normalise("u", []byte(refused))
		require.Equal(t, fetch.ClassNotJSON, fetch.ClassOf(err), refused[:min(len(refused), 20)])
	}
}

func FuzzNormalise(f *testing.F) {
	f.Add([]byte(`{"name":"a","symbol":1,"image":{"uri":"x"},"extensions":{"a":"b"},"tags":["x"],"properties":{"files":[{"uri":"u","type":"image/png"}]}}`))
	f.Add([]byte("{\"name\":\"\xff\\ud800\",\"website\":\"java\\u0000script:\"}"))
	f.Add([]byte(`[{"description":"` + strings.Repeat("é", 3000) + `"}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		document, err := normalise("u", body)
		if err != nil {
			return
		}
		// Proto strings must be valid UTF-8, or the record could not be written.
		_, err = proto.MarshalOptions{Deterministic: true}.Marshal(document)
		require.NoError(t, err)
		require.LessOrEqual(t, len(document.GetName()), maxName)
		require.LessOrEqual(t, len(document.GetDescription()), maxDescription)
		require.LessOrEqual(t, len(document.GetImage()), maxDataURL)
		require.LessOrEqual(t, len(document.GetExtensions()), maxExtensions)
		require.LessOrEqual(t, len(document.GetTags()), maxTags)
		for name, value := range document.GetExtensions() {
			require.True(t, utf8.ValidString(name) && utf8.ValidString(value))
			require.False(t, hasActiveScheme(strings.ToLower(value)), value)
		}
		again, err := normalise("u", body)
		require.NoError(t, err)
		require.True(t, proto.Equal(document, again))
	})
}
