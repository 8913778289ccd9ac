/* pickle.c: what PyTorch and NumPy write as pickles, which are programs: they are never read, but told how to become
 * something that is. */
#include "io/pickle.h"

static bool is_pickle(const uint8_t *at, size_t n) { return n >= 2 && at[0] == 0x80 && at[1] >= 1 && at[1] <= 5; }

wick_status wick_refuse_pickle(const char *name, wick_msg *msg) {
    return wick_msg_set(msg, WICK_ERR_UNSUPPORTED,
                        "%s: a pickle as PyTorch writes, which could run any code: convert it where it can be trusted "
                        "with python3 -c \"import torch; from safetensors.torch "
                        "import save_file; d = torch.load('%s', map_location='cpu', weights_only=True); save_file({k: "
                        "v.clone() for k, v in d.get('state_dict', d).items()}, "
                        "'weights.safetensors')\"",
                        name, name);
}

bool wick_is_pickle(const uint8_t *at, size_t n) {
    if (n > 8 && at[8] == '{') { /* a safetensors file whose header is 641 bytes long, say */
        uint64_t header = 0;
        for (int i = 7; i >= 0; i--) header = header << 8 | at[i];
        if (header <= n - 8) return false;
    }
    if (is_pickle(at, n)) return true;
    if (n < 30 || memcmp(at, "PK\3\4", 4) != 0) return false; /* PyTorch's archives begin with NAME/data.pkl */
    const size_t length = (size_t)at[26] | (size_t)at[27] << 8;
    static const char last[] = "data.pkl";
    return length >= sizeof last - 1 && length <= n - 30 &&
           !memcmp(at + 30 + length - (sizeof last - 1), last, sizeof last - 1);
}
