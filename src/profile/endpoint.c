/* endpoint.c: as much of HTTP/1.1 (RFC 9112) as a collector of metrics needs: one request a connection, GET and HEAD.
 */
#include "profile/endpoint.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUEST_BYTES = 8192, PATIENCE_MS = 2000, WAITING = 8 };

struct endpoint {
    int listener, stop; /* stop: an eventfd, readable once the thread is to end */
    int port;
    pthread_t thread;
    void (*page)(void *user, wick_text *out);
    void *user;
};

/* Whether fd can be read; false: nothing came in time, or the thread is to end. */
static bool readable(const endpoint *e, int fd, int timeout_ms) {
    struct pollfd on[2] = {{.fd = fd, .events = POLLIN}, {.fd = e->stop, .events = POLLIN}};
    int n;
    do n = poll(on, 2, timeout_ms);
    while (n < 0 && errno == EINTR);
    return n > 0 && on[0].revents && !on[1].revents;
}

/* Reads up to the empty line that ends a request's head. */
static bool read_head(const endpoint *e, int fd, char *head, size_t cap) {
    const uint64_t until = wick_now_ns() + PATIENCE_MS * UINT64_C(1000000);
    size_t n = 0;
    while (n + 1 < cap) {
        const uint64_t now = wick_now_ns();
        if (now >= until || !readable(e, fd, (int)((until - now) / 1000000 + 1))) return false;
        const ssize_t some = recv(fd, head + n, cap - 1 - n, MSG_DONTWAIT);
        if (some <= 0) return false;
        n += (size_t)some;
        head[n] = 0;
        if (strstr(head, "\r\n\r\n") || strstr(head, "\n\n")) return true;
    }
    return false;
}

static void send_all(int fd, const char *text, size_t n) {
    while (n) {
        const ssize_t some = send(fd, text, n, MSG_NOSIGNAL);
        if (some < 0 && errno == EINTR) continue;
        if (some <= 0) return; /* it took too long, or is gone */
        text += some;
        n -= (size_t)some;
    }
}

static bool asks_for(const char *head, const char *what) {
    const size_t n = strlen(what);
    return strncmp(head, what, n) == 0 && (head[n] == ' ' || head[n] == '?');
}

static void answer(const endpoint *e, int fd) {
    char head[REQUEST_BYTES], line[256];
    if (!read_head(e, fd, head, sizeof head)) return;
    const bool get = strncmp(head, "GET ", 4) == 0, only_head = strncmp(head, "HEAD ", 5) == 0;
    const bool known = asks_for(head, "GET /metrics") || asks_for(head, "HEAD /metrics");
    wick_text body = {0};
    if (known) e->page(e->user, &body);
    const char *status = !get && !only_head ? "405 Method Not Allowed"
                         : !known           ? "404 Not Found"
                         : body.failed      ? "500 Internal Server Error"
                                            : "200 OK";
    wick_str s = wick_str_on(line, sizeof line);
    wick_str_add(&s,
                 "HTTP/1.1 %s\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"
                 "Content-Length: %zu\r\nConnection: close\r\n%s\r\n",
                 status, body.failed ? (size_t)0 : body.len, !get && !only_head ? "Allow: GET, HEAD\r\n" : "");
    send_all(fd, s.at, s.len);
    if (get && !body.failed) send_all(fd, body.at ? body.at : "", body.len);
    wick_text_free(&body);
}

static void *serve(void *user) {
    const endpoint *e = user;
    pthread_setname_np(pthread_self(), "wick-metrics");
    for (;;) {
        if (!readable(e, e->listener, -1)) break;
        const int fd = accept4(e->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) {
            /* Out of descriptors, the caller waits in the queue: look again in a while, unless it is time to end. */
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) readable(e, e->stop, 100);
            continue;
        }
        const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        answer(e, fd);
        shutdown(fd, SHUT_WR);
        close(fd);
    }
    return NULL;
}

static int listen_on(int port, int *actual) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0) return -1;
    /* A run that begins where another has just ended finds the port free. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, WAITING) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0) {
        const int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    *actual = ntohs(at.sin_port);
    return fd;
}

wick_status endpoint_open(endpoint **out, int port, void (*page)(void *user, wick_text *out), void *user,
                          wick_msg *msg) {
    *out = NULL;
    if (port < 0 || port > 65535) return wick_msg_set(msg, WICK_ERR_INVALID, "port %d: 0 to 65535", port);
    endpoint *e = wick_calloc(NULL, sizeof *e);
    if (!e) return wick_msg_set(msg, WICK_ERR_NOMEM, "port %d: out of memory", port);
    *e = (endpoint){.page = page, .user = user, .stop = eventfd(0, EFD_CLOEXEC)};
    e->listener = e->stop < 0 ? -1 : listen_on(port, &e->port);
    int error = e->listener < 0 ? errno : 0;
    if (!error) { /* signals are for the program's own threads */
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(&e->thread, NULL, serve, e);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (!error) {
        *out = e;
        return WICK_OK;
    }
    if (e->listener >= 0) close(e->listener);
    if (e->stop >= 0) close(e->stop);
    wick_release(NULL, e, sizeof *e);
    return wick_msg_set(msg, WICK_ERR_IO, "port %d of 127.0.0.1: %s", port, strerror(error));
}

int endpoint_port(const endpoint *e) { return e->port; }

void endpoint_close(endpoint **endpoint_) {
    endpoint *e = *endpoint_;
    if (!e) return;
    *endpoint_ = NULL;
    while (eventfd_write(e->stop, 1) != 0 && errno == EINTR) {
    }
    pthread_join(e->thread, NULL);
    close(e->listener);
    close(e->stop);
    wick_release(NULL, e, sizeof *e);
}
