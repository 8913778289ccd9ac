/* msg.c: the text of a failure, and the bounded string builder. */
#include <stdio.h>

#include "base/base.h"

/* Marks a text that filled all of WICK_MSG_MAX: ends it in "...", cut at the start of a UTF-8 sequence. */
static void mark_cut(char *text) {
    size_t at = WICK_MSG_MAX - sizeof "...";
    while (at && ((unsigned char)text[at] & 0xC0) == 0x80) at--;
    memcpy(text + at, "...", sizeof "...");
}

wick_status wick_msg_setv(wick_msg *msg, wick_status status, const char *fmt, va_list args) {
    if (!msg) return status;
    msg->status = status;
    if (status == WICK_OK) {
        msg->text[0] = 0;
        return status;
    }
    /* Formatted aside, because an argument may be msg->text itself. */
    char text[WICK_MSG_MAX];
    int n = vsnprintf(text, sizeof text, fmt, args);
    if (n < 0) n = snprintf(text, sizeof text, "%s", fmt);
    if (n >= WICK_MSG_MAX) mark_cut(text), n = (int)strlen(text);
    memcpy(msg->text, text, (size_t)n + 1);
    return status;
}

wick_status wick_msg_set(wick_msg *msg, wick_status status, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    wick_msg_setv(msg, status, fmt, args);
    va_end(args);
    return status;
}

wick_status wick_msg_prefix(wick_msg *msg, const char *fmt, ...) {
    if (!msg) return WICK_OK;
    char front[WICK_MSG_MAX];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(front, sizeof front, fmt, args);
    va_end(args);
    if (n < 0) return msg->status;
    return wick_msg_set(msg, msg->status, "%s%s", front, msg->text);
}

void wick_str_add(wick_str *s, const char *fmt, ...) {
    size_t room = s->cap - s->len; /* terminator included */
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(room ? s->at + s->len : NULL, room, fmt, args);
    va_end(args);
    if (n < 0) {
        if (room) s->at[s->len] = 0;
        s->cut = true;
    } else if ((size_t)n >= room) {
        if (room) s->len = s->cap - 1;
        s->cut |= n > 0;
    } else {
        s->len += (size_t)n;
    }
}
