#include "html.h"

#include "../term/utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void html_text(FILE *out, const char *text) {
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const int found = utf8_length(s), n = found ? found : 1;
        const char *name = *s == '<'    ? "&lt;"
                           : *s == '>'  ? "&gt;"
                           : *s == '&'  ? "&amp;"
                           : *s == '"'  ? "&quot;"
                           : *s == '\'' ? "&#39;"
                                        : NULL;
        if (*s != '\n' && utf8_hidden(s, found))
            for (int i = 0; i < n; i++) fprintf(out, "\\x%02x", s[i]);
        else if (name)
            fputs(name, out);
        else
            fwrite(s, 1, (size_t)n, out);
        s += n;
    }
}

void html_print(FILE *out, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0) {
        html_text(out, text);
        free(text);
    }
    va_end(args);
}

/* Colours are checked for people who see them differently: blue and orange differ in lightness too, and no meaning
 * hangs on colour alone. */
static const char *const style[] = {
    ":root{color-scheme:light "
    "dark;--page:#f7f6f3;--card:#fff;--ink:#14130f;--ink2:#55534c;--muted:#6f6c64;--grid:#e9e7e1;--axis:#c4c1b8;"
    "--edge:#e2e0d9;--empty:#f4f3ef;--a:#2a70c8;--b:#d9601f;--c:#1f8a5f;--on:#fff}\n",
    "@media(prefers-color-scheme:dark){:root{--page:#101010;--card:#1a1a19;--ink:#f3f2ee;--ink2:#bdbab1;--muted:#"
    "969389;--grid:#2b2b29;"
    "--axis:#4a4944;--edge:#2c2c2a;--empty:#242422;--a:#4b93ea;--b:#ec7d3c;--c:#3fb184;--on:#0c0c0c}}\n",
    "*{box-sizing:border-box}\n",
    "body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,\"Segoe "
    "UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif}\n",
    "main{max-width:1120px;margin:0 auto;padding:40px 24px 56px}\n",
    "h1{font-size:32px;line-height:1.15;letter-spacing:-.02em;font-weight:650;margin:0 0 6px;overflow-wrap:anywhere}\n",
    "h2{font-size:20px;letter-spacing:-.01em;font-weight:650;margin:44px 0 4px}\n",
    "h3{font-size:15px;font-weight:600;margin:0 0 2px}\n",
    "p{margin:0 0 12px;color:var(--ink2);max-width:76ch}\n",
    ".card{background:var(--card);border:1px solid var(--edge);border-radius:10px;padding:18px 20px;margin:14px 0 "
    "0;min-width:0}\n",
    ".card>p{font-size:13.5px;margin-bottom:10px}\n",
    ".card>.note{margin:6px 0 0}\n",
    ".wide{overflow-x:auto}.wide>svg{min-width:640px}.small>svg{min-width:430px}\n",
    ".two{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:0 14px;align-items:start}\n",
    ".tiles{display:grid;grid-template-columns:repeat(6,minmax(0,1fr));gap:10px;margin:24px 0 0;padding:0}\n",
    ".tiles div{background:var(--card);border:1px solid var(--edge);border-radius:10px;padding:14px 16px}\n",
    ".tiles dt{font-size:12.5px;color:var(--muted)}\n",
    ".tiles dd{margin:2px 0 0;font-size:23px;font-weight:620;letter-spacing:-.02em}\n",
    ".tiles dd small{font-size:13px;font-weight:450;letter-spacing:0;color:var(--ink2)}\n",
    ".tiles p{margin:0;font-size:12.5px;line-height:1.35;color:var(--muted)}\n",
    "svg{display:block;width:100%;height:auto;overflow:visible}\n",
    "svg text{font-size:12px;fill:var(--ink2);font-variant-numeric:tabular-nums}\n",
    "svg .tick{fill:var(--muted)}svg .end{text-anchor:end}svg .mid{text-anchor:middle}\n",
    "svg .zero{fill:var(--muted)}svg .on00,svg .on01{fill:#000}svg .on10,svg .on11{fill:#fff}svg "
    ".strong{fill:var(--ink);font-weight:600}\n",
    ".grid{stroke:var(--grid)}.axis{stroke:var(--axis)}\n",
    ".line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}.line.faint{opacity:.2;stroke-width:1}"
    "\n",
    ".line.a{stroke:var(--a)}.line.b{stroke:var(--b)}.line.c{stroke:var(--c)}\n",
    ".dot{stroke:var(--card);stroke-width:2}.a{fill:var(--a)}.b{fill:var(--b)}.c{fill:var(--c)}.empty{fill:var(--empty)"
    "}\n",
    ".line.a,.line.b,.line.c{fill:none}\n",
    ".hover{fill:transparent}.hover:hover{fill:var(--ink);fill-opacity:.07}.cell:hover "
    "rect{stroke:var(--ink);stroke-width:1.5}\n",
    ".area{fill:var(--a);fill-opacity:.16;stroke:var(--a);stroke-width:1.5;stroke-linejoin:round}\n",
    ".slab{stroke:var(--card);stroke-width:.7}.slab.a{fill-opacity:.42}.slab.b{fill-opacity:.85}.slab:hover{fill-"
    "opacity:1}.mark{stroke:var(--b);stroke-dasharray:4 3}\n",
    ".bar{width:100%;min-width:70px;height:9px}\n",
    "table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums}\n",
    "th{text-align:left;font-weight:500;font-size:12.5px;color:var(--muted);padding:4px 10px 6px 0;border-bottom:1px "
    "solid var(--axis);white-space:nowrap}\n",
    "td{padding:5px 10px 5px 0;border-bottom:1px solid var(--grid)}tr:last-child td{border-bottom:0}\n",
    ".n{text-align:right;white-space:nowrap}td:last-child,th:last-child{padding-right:0}\n",
    "td small{color:var(--muted);font-size:12px}tr.total td{border-top:1px solid var(--axis);color:var(--ink2)}\n",
    "code{font:12.5px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace}\n",
    ".pairs{display:grid;grid-template-columns:repeat(auto-fill,minmax(320px,1fr));gap:14px;margin:14px 0 0}.pairs "
    ".card{margin:0}\n",
    ".shots{display:flex;flex-wrap:wrap;gap:10px;margin:10px 0 0;padding:0;list-style:none}\n",
    ".shots li{font-size:11.5px;line-height:1.35;color:var(--muted);text-align:center}\n",
    "img{display:block;image-rendering:pixelated;border-radius:4px}.shots img{margin:0 auto "
    "4px;width:64px;height:64px;object-fit:contain;background:#000}\n",
    ".filters{display:flex;flex-wrap:wrap;gap:8px;padding:0;margin:0;list-style:none}\n",
    "details summary{cursor:pointer;font-weight:600}details table{margin-top:10px}\n",
    "footer{margin-top:36px;font-size:12.5px;color:var(--muted)}\n",
    "@media(prefers-color-scheme:dark){svg .on00,svg .on10{fill:#000}svg .on01,svg .on11{fill:#fff}}\n",
    ".keys b{color:var(--ink);font-weight:600}pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}\n",
    "@media(max-width:900px){.two{grid-template-columns:minmax(0,1fr)}.tiles{grid-template-columns:repeat(3,minmax(0,"
    "1fr))}}\n",
    "@media(max-width:560px){main{padding:24px 14px "
    "40px}h1{font-size:26px}.card{padding:14px}.tiles{grid-template-columns:repeat(2,minmax(0,1fr))}"
    ".pairs{grid-template-columns:minmax(0,1fr)}.filters{gap:6px}.filters img{width:58px;height:auto}"
    ".wide>svg,.small>svg{min-width:0}table{font-size:12px}th,td{padding-right:6px;white-space:normal}td code,td "
    "small{overflow-wrap:anywhere}th{white-space:normal;font-size:11px}"
    ".bar{min-width:24px}#time .bar,#memory .bar{display:none}#time td:nth-child(3),#memory "
    "td:nth-child(2){width:0!important}}\n",
    "@media print{.card,.tiles div{break-inside:avoid}}\n",
};

void html_style(FILE *out) {
    for (size_t i = 0; i < sizeof style / sizeof style[0]; i++) fputs(style[i], out);
}

void html_begin(FILE *out, const char *title) {
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
          "img-src data:\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" "
          "href=\"data:,\">\n<title>",
          out);
    html_text(out, title);
    fputs("</title>\n<style>\n", out);
    html_style(out);
    fputs("</style>\n</head>\n<body>\n<main>\n", out);
}

void html_end(FILE *out) { fputs("</main>\n</body>\n</html>\n", out); }
