package hostileimages

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf16"
)

const (
	head = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="40" height="40">`
	tail = `<rect width="40" height="40"/></svg>`
)

// Drawings returns SVG documents. A document without a Class is accepted after it was sanitized.
// Only its parts that have the Mark are hostile.
func Drawings() []Case {
	list := append(runs(), reaches()...)
	list = append(list, styles()...)
	list = append(list, unfolds()...)
	return append(list, encodings()...)
}

func drawing(name, inner string) Case {
	return Case{Name: "svg: " + name, Body: []byte(head + inner + tail)}
}

// runs are ways to run a script, or to load something by HTML, media, an animation or a link.
func runs() []Case {
	list := []Case{
		drawing("script", `<script>evil()</script>`),
		drawing("script in CDATA", `<script><![CDATA[evil()]]></script>`),
		drawing("script of a prefix", `<s:script xmlns:s="http://www.w3.org/2000/svg">evil()</s:script>`),
		drawing("script of HTML", `<script xmlns="http://www.w3.org/1999/xhtml">evil()</script>`),
		drawing("script with a link", `<script href="https://evil.test/x.js" xlink:href="https://evil.test/x.js"/>`),
		drawing("script in upper case", `<SCRIPT>evil()</SCRIPT>`),
		drawing("script in a group", `<g><g><script>evil()</script></g></g>`),
		drawing("handlers", `<g onload="evil()" onclick="evil()" OnMouseOver="evil()" onbegin="evil()" onfocusin="evil()" tabindex="0"/>`),
		drawing("handler of a prefix", `<g xmlns:x="http://www.w3.org/2000/svg" x:onload="evil()" xlink:onload="evil()"/>`),
		drawing("handler element", `<handler xmlns:ev="http://www.w3.org/2001/xml-events" ev:event="load">evil()</handler>`),
		drawing("foreignObject", `<foreignObject width="9" height="9"><body xmlns="http://www.w3.org/1999/xhtml"><iframe src="https://evil.test"/></body></foreignObject>`),
		drawing("foreignObject in a switch", `<switch><foreignObject><p xmlns="http://www.w3.org/1999/xhtml" onclick="evil()">evil</p></foreignObject><g/></switch>`),
		drawing("HTML in a title", `<title><p xmlns="http://www.w3.org/1999/xhtml" onclick="evil()">evil</p></title><desc><script>evil()</script></desc>`),
		drawing("HTML out of a style", `<style>/*&lt;/style>&lt;img src=x onerror=evil()>*/</style>`),
		drawing("HTML out of a value", `<g id="&lt;/g>&lt;img src=x onerror=evil()>"/>`),
		drawing("iframe, embed, object", `<iframe xmlns="http://www.w3.org/1999/xhtml" src="https://evil.test"/><embed src="https://evil.test"/><object data="https://evil.test"/>`),
		drawing("audio and video", `<audio href="https://evil.test/a"/><video xlink:href="https://evil.test/v"/>`),
		drawing("set on a handler", `<set attributeName="onload" to="evil()"/><animate attributeName="onclick" values="evil()"/>`),
		drawing("animated link", `<a><set attributeName="href" to="javascript:evil()"/><animate attributeName="xlink:href" values="javascript:evil()"/></a>`),
		drawing("animated class and style", `<set attributeName="style" to="background:url(//evil.test)"/><animate attributeName="class" to="evil"/>`),
		drawing("animated fill", `<rect><animate attributeName="fill" from="url(https://evil.test/#a)" to="url(&quot;//evil.test#a&quot;)"/></rect>`),
		drawing("namespace that changes", `<g xmlns="http://www.w3.org/1999/xhtml"><script xmlns="http://www.w3.org/2000/svg">evil()</script></g>`),
		drawing("unknown namespace of an SVG name", `<e:script xmlns:e="urn:evil">evil()</e:script><e:rect xmlns:e="urn:evil"/>`),
	}
	for name, link := range map[string]string{
		"javascript": "javascript:evil()", "upper case": "JaVaScRiPt:evil()", "tab": "java&#9;script:evil()", "newline": "&#10;javascript:evil()",
		"control": "&#xA0;javascript:evil()", "vbscript": "vbscript:evil()", "data": "data:text/html,&lt;script>evil()&lt;/script>", "web": "https://evil.test/",
		"relative": "/evil", "scheme": "//evil.test", "file": "file:///evil",
	} {
		list = append(list, drawing("a link, "+name, fmt.Sprintf(`<a href="%[1]s" xlink:href="%[1]s" target="_top"><rect width="9" height="9"/></a>`, link)))
	}
	return list
}

// reaches are ways to load something from elsewhere, or to embed something that was not checked.
func reaches() []Case {
	inner := base64.StdEncoding.EncodeToString([]byte(head + `<script>evil()</script></svg>`))
	return []Case{
		drawing("image of the web", `<image href="http://169.254.169.254/evil" width="9" height="9"/><image xlink:href="https://evil.test/x.png"/>`),
		drawing("image of a page", `<image href="data:text/html;base64,`+base64.StdEncoding.EncodeToString([]byte("<script>evil()</script>"))+`" class="evil"/>`),
		drawing("image of a drawing", `<image class="evil" href="data:image/svg+xml;base64,`+inner+`"/>`),
		drawing("image of a drawing, plain", `<image class="evil" href="data:image/svg+xml,%3Csvg onload=%22evil()%22/%3E"/>`),
		drawing("image of a drawing, as PNG", `<image class="evil" href="data:image/png;base64,`+inner+`"/>`),
		drawing("image of a drawing, with a charset", `<image class="evil" href=" DATA:image/SVG+xml;charset=utf-7;base64,`+inner+`"/>`),
		drawing("use of the web", `<use href="https://evil.test/x.svg#a"/><use xlink:href="//evil.test/x.svg#a"/><use href="evil.svg#a"/>`),
		drawing("use of data", `<use href="data:image/svg+xml;base64,`+inner+`#evil"/>`),
		drawing("feImage", `<filter id="f"><feImage href="https://evil.test/x.png"/><feImage xlink:href="//evil.test"/></filter>`),
		drawing("gradient of the web", `<linearGradient id="g" href="https://evil.test/x.svg#g"/><pattern id="p" xlink:href="https://evil.test/#p"/>`),
		drawing("text on a path of the web", `<text><textPath href="https://evil.test/x.svg#p">x</textPath></text>`),
		drawing("fill of the web", `<g fill="url(https://evil.test/x.svg#a)" stroke="url('https://evil.test/#b')" filter="url( //evil.test/#c )"/>`),
		drawing("mask and clip of the web", `<g mask="url(evil.svg#m)" clip-path='url("https://evil.test/#c")' cursor="url(https://evil.test/c.cur),auto"/>`),
		drawing("marker of the web", `<path d="M0 0L9 9" marker-start="url(https://evil.test/#m)" marker="url(//evil.test/#m)"/>`),
		drawing("base", `<g xml:base="https://evil.test/"><use href="#a"/></g>`),
		drawing("font", `<font-face><font-face-src><font-face-uri xlink:href="https://evil.test/f.svg#f"/></font-face-src></font-face>`),
		drawing("cursor, tref and color-profile", `<cursor xlink:href="https://evil.test/c"/><text><tref xlink:href="https://evil.test/t"/></text><color-profile xlink:href="//evil.test"/>`),
		drawing("discard, mpath", `<discard href="https://evil.test"/><animateMotion dur="1s"><mpath href="https://evil.test/#p"/></animateMotion>`),
		drawing("metadata", `<metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><evil/></rdf:RDF></metadata>`),
		{Name: "svg: a style sheet of the web", Body: []byte(`<?xml version="1.0"?><?xml-stylesheet href="https://evil.test/x.css" type="text/css"?>` + head + tail)},
		{Name: "svg: a transformation", Body: []byte(`<?xml-stylesheet type="text/xsl" href="data:text/xml,evil"?>` + head + `<?php evil() ?>` + tail)},
		{Name: "svg: default attributes", Body: []byte(`<!DOCTYPE svg [<!ATTLIST svg onload CDATA "evil()">]>` + head + tail)},
		{Name: "svg: a document type of the web", Body: []byte(`<!DOCTYPE svg SYSTEM "https://evil.test/x.dtd">` + head + tail)},
		{Name: "svg: a comment", Body: []byte(head + `<!-- <script>evil()</script> -->` + tail)},
	}
}

// styles are ways to load something from elsewhere, or to run a script, by CSS.
func styles() []Case {
	var list []Case
	for name, text := range map[string]string{
		"import":                   `@import url("https://evil.test/x.css"); @import "https://evil.test/y.css";`,
		"import, spelled":          `@\69mport "https://evil.test/x.css"; @IMPORT url(//evil.test);`,
		"url":                      `rect { fill: url(https://evil.test/#a); background: url("//evil.test") }`,
		"url, spelled":             `rect { fill: u\72l(https://evil.test/#a); mask: \75\72\6c("//evil.test") }`,
		"url, cut":                 `rect { fill: url(https://evil.test`,
		"url, cut string":          `rect { fill: url("https://evil.test`,
		"url, comment":             `rect { fill: url/**/(https://evil.test); fill: url(/**/https://evil.test) }`,
		"url after its id":         `rect { fill: url(#a https://evil.test) } rect { fill: url("#a" "//evil.test") }`,
		"image-set":                `rect { background: image-set("https://evil.test/x.png" 1x); cursor: image("//evil.test") }`,
		"src and attr":             `rect { background: src("https://evil.test"); fill: attr(evil url) }`,
		"expression":               `rect { width: expression(evil()); behavior: url(#evil); -moz-binding: url(#evil) }`,
		"font":                     `@font-face { font-family: x; src: url(https://evil.test/f.woff) } @font-face { src: local(evil) }`,
		"namespace":                `@namespace evil url(https://evil.test); @charset "evil"; @page { size: evil }`,
		"supports and layer":       `@supports (evil: x) { rect { fill: url(//evil.test) } } @layer evil; @container evil (width) {}`,
		"selector of values":       `rect[href^="evil"] { fill: red } rect:has(evil) { fill: red } rect::before { content: "evil" }`,
		"properties in properties": `rect { --a: url(//evil.test); --b: var(--evil); }`,
		"a string":                 `rect { font-family: "x, url(https://evil.test" }`,
		"keyframes":                `@keyframes k { from { fill: url(https://evil.test) } to { background: url(#evil) } }`,
	} {
		list = append(list, drawing("style, "+name, "<style>"+escape.Replace(text)+"</style>"), drawing("style, CDATA, "+name, "<style><![CDATA["+text+"]]></style>"))
		if _, inner, ok := strings.Cut(text, "rect {"); ok {
			list = append(list, drawing("style attribute, "+name, `<g style="`+escape.Replace(strings.Trim(inner, "} "))+`"/>`))
		}
	}
	return append(list, drawing("style of another type", `<style type="text/evil">evil { }</style><style type="text/css">@import "//evil.test";</style>`))
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;")

// unfolds are small documents that become large: in the parser, or in the browser.
func unfolds() []Case {
	doctype := func(inside string) string { return `<!DOCTYPE svg [` + inside + `]>` }
	text := func(name, class, body string) Case {
		return Case{Name: "svg: " + name, Class: class, Body: []byte(body)}
	}
	levels := func(format string, count int) string {
		var b strings.Builder
		for i := range count {
			fmt.Fprintf(&b, format, i, i+1)
		}
		return b.String()
	}
	return []Case{
		text("one entity of 1 MiB, 1,500 times", ImageBounds, doctype(`<!ENTITY a "`+strings.Repeat("x", 1<<20)+`">`)+head+"<text>"+strings.Repeat("&a;", 1500)+"</text></svg>"),
		text("a short entity often", ImageBounds, doctype(`<!ENTITY a "`+strings.Repeat("x", 500)+`">`)+head+"<text>"+strings.Repeat("&a;", 24_000)+"</text></svg>"),
		text("12 KB that unfold to 12 MB", ImageBounds, doctype(`<!ENTITY a "`+strings.Repeat("x", 6<<10)+`">`)+head+strings.Repeat("<text>&a;</text>", 2000)+"</svg>"),
		text("entities in a value", ImageBounds, doctype(`<!ENTITY a "`+strings.Repeat("x", 400)+`">`)+head+`<g class="`+strings.Repeat("&a;", 10_000)+`"/></svg>`),
		text("many entities", ImageBounds, doctype(strings.Repeat(`<!ENTITY a "x">`, 1)+levels(`<!ENTITY n%d "%d">`, 100))+head+tail),
		text("billion laughs", BadImage, doctype(`<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">`)+head+"&b;</svg>"),
		text("an entity of a parameter", BadImage, doctype(`<!ENTITY % p "x"><!ENTITY a "%p;">`)+head+"&a;</svg>"),
		text("an entity of a file", BadImage, doctype(`<!ENTITY a SYSTEM "file:///etc/passwd">`)+head+"&a;</svg>"),
		text("an entity of the web", BadImage, doctype(`<!ENTITY a PUBLIC "x" "https://evil.test/x">`)+head+"&a;</svg>"),
		text("an entity that is markup", BadImage, doctype(`<!ENTITY a "<script>evil()</script>">`)+head+"&a;</svg>"),
		text("an entity by numbers", BadImage, doctype(`<!ENTITY a "&#60;script>evil()&#60;/script>">`)+head+"&a;</svg>"),
		text("deep", ImageBounds, strings.Repeat(head, 300)+strings.Repeat("</svg>", 300)),
		text("very deep", ImageBounds, head+strings.Repeat("<g>", 1<<20)),
		text("deep in what is left out", ImageBounds, head+"<metadata>"+strings.Repeat("<g>", 1000)+strings.Repeat("</g>", 1000)+"</metadata></svg>"),
		text("many elements", ImageBounds, head+strings.Repeat("<g/>", 300_000)+"</svg>"),
		text("many attributes", ImageBounds, head+"<g "+levels(`a%d="%d" `, 300_000)+"/></svg>"),
		text("many comments", ImageBounds, head+strings.Repeat("<!---->", 600_000)+"</svg>"),
		text("uses of uses", ImageBounds, head+`<g id="n0"><path d="M0 0h1"/></g>`+levels(`<g id="m%[1]d"><use href="#n%[1]d"/><use href="#n%[1]d"/></g><g id="n%[2]d"><use href="#m%[1]d"/><use href="#m%[1]d"/></g>`, 20)+`<use href="#n20"/></svg>`),
		text("a use of itself", ImageBounds, head+`<g id="a"><use href="#b"/></g><g id="b"><use xlink:href="#a"/></g></svg>`),
		text("patterns of patterns", ImageBounds, head+levels(`<pattern id="p%d">`+strings.Repeat(`<rect fill="url(#p%[2]d)"/>`, 10)+`</pattern>`, 12)+`<rect fill="url(#p0)"/></svg>`),
		text("patterns by style", ImageBounds, head+`<style>`+levels(".c%d{fill:url(#p%d)}", 12)+`</style>`+levels(`<pattern id="p%[1]d">`+strings.Repeat(`<rect class="c%[1]d"/>`, 10)+`</pattern>`, 13)+`<rect class="c0"/></svg>`),
		text("masks of masks", ImageBounds, head+levels(`<mask id="p%d">`+strings.Repeat(`<g style="mask:url('#p%[2]d')"><path/></g>`, 10)+`</mask>`, 12)+`<rect mask="url(#p0)"/></svg>`),
		text("filters", ImageBounds, head+`<filter id="f">`+strings.Repeat(`<feTurbulence numOctaves="9999" baseFrequency="9"/>`, 4000)+`</filter><rect filter="url(#f)"/></svg>`),
		text("gradients in a chain", ImageBounds, head+levels(`<linearGradient id="g%d" href="#g%d"/><rect fill="url(#g%[1]d)"/>`, 20_000)+"</svg>"),
		text("rules for elements", ImageBounds, head+"<style>"+strings.Repeat("g g g g g *{fill:red}", 3000)+"</style>"+strings.Repeat("<g/>", 50_000)+"</svg>"),
		text("an embedded picture that promises pixels", ImageBounds, head+`<image href="data:image/png;base64,`+base64.StdEncoding.EncodeToString(PNGHeader(60_000, 60_000))+`"/></svg>`),
		text("an embedded picture of many scans", ImageBounds, head+`<image href="data:image/jpeg;base64,`+base64.StdEncoding.EncodeToString(JPEGScans(64, 500))+`"/></svg>`),
		text("an end without a beginning", BadImage, head+"</g></svg>"),
		text("cut", BadImage, head+"<rect "),
		text("two", BadImage, head+tail+head+tail),
		text("upper case", NotImage, strings.ReplaceAll(head+tail, "svg", "SVG")),
		text("in a page", NotImage, "<html><body>"+head+tail+"</body></html>"),
		text("of another namespace", BadImage, `<svg xmlns="http://www.w3.org/1999/xhtml"></svg>`),
	}
}

// encodings hide a script from a parser that takes the bytes for another encoding or format.
func encodings() []Case {
	inner := head + `<script>evil()</script><style>@import "//evil.test";</style>` + tail
	utf16of := func(big bool) []byte {
		var b bytes.Buffer
		for _, unit := range append([]uint16{0xfeff}, utf16.Encode([]rune(inner))...) {
			low, high := byte(unit), byte(unit>>8)
			if big {
				low, high = high, low
			}
			b.Write([]byte{low, high})
		}
		return b.Bytes()
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(inner)) // a buffer does not fail
	_ = z.Close()
	declared := func(name string) []byte { return []byte(`<?xml version="1.0" encoding="` + name + `"?>` + inner) }
	return []Case{
		{Name: "svg: UTF-16, little-endian", Body: utf16of(false)}, {Name: "svg: UTF-16, big-endian", Body: utf16of(true)},
		{Name: "svg: a byte order mark", Body: append([]byte("\xef\xbb\xbf"), inner...)},
		{Name: "svg: UTF-16 by declaration only", Body: declared("UTF-16")}, {Name: "svg: UTF-7", Body: declared("UTF-7")},
		{Name: "svg: ISO-2022-JP", Body: declared("ISO-2022-JP")}, {Name: "svg: windows-1252", Body: declared("windows-1252")},
		{Name: "svg: x-user-defined", Body: declared("x-user-defined")}, {Name: "svg: XML 1.1", Body: []byte(`<?xml version="1.1"?>` + inner)},
		{Name: "svg: replacement", Class: BadImage, Body: declared("ISO-2022-KR")},
		{Name: "svg: bytes that are no UTF-8", Class: BadImage, Body: []byte(head + "<text>\xff\xfe</text>" + tail)},
		{Name: "svg: gzip", Class: NotImage, Body: packed.Bytes()},
		{Name: "svg: UTF-16 without a mark", Class: NotImage, Body: utf16of(true)[2:]},
	}
}
