#include "dist/mpi_library.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { TEXT_MAX = 8192 /* MPI_MAX_LIBRARY_VERSION_STRING of those that have the most */ };

static const char *const names[MPI_CALLS] = {[MPI_CALL_VERSION] = "MPI_Get_library_version",
                                             [MPI_CALL_INITIALIZED] = "MPI_Initialized",
                                             [MPI_CALL_FINALIZED] = "MPI_Finalized",
                                             [MPI_CALL_INIT] = "MPI_Init_thread",
                                             [MPI_CALL_LEVEL] = "MPI_Query_thread",
                                             [MPI_CALL_FINALIZE] = "MPI_Finalize",
                                             [MPI_CALL_RANK] = "MPI_Comm_rank",
                                             [MPI_CALL_SIZE] = "MPI_Comm_size",
                                             [MPI_CALL_DUP] = "MPI_Comm_dup",
                                             [MPI_CALL_FREE] = "MPI_Comm_free",
                                             [MPI_CALL_HANDLER] = "MPI_Comm_set_errhandler",
                                             [MPI_CALL_ISEND] = "MPI_Isend",
                                             [MPI_CALL_IRECV] = "MPI_Irecv",
                                             [MPI_CALL_TEST] = "MPI_Test",
                                             [MPI_CALL_ALLREDUCE] = "MPI_Iallreduce",
                                             [MPI_CALL_CANCEL] = "MPI_Cancel",
                                             [MPI_CALL_COUNT_OF] = "MPI_Get_count",
                                             [MPI_CALL_CLASS] = "MPI_Error_class",
                                             [MPI_CALL_TEXT] = "MPI_Error_string"};

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Function number `call` as one of that type; two types where handles are arguments. */
#define AS(call, ...) (*(int (**)(__VA_ARGS__)) & m->functions[call])

int mpi_flag(const mpi_library *m, mpi_call call) {
    int flag = 0;
    return AS(call, int *)(&flag) ? -1 : flag != 0;
}
int mpi_init(const mpi_library *m) {
    int provided;
    return AS(MPI_CALL_INIT, int *, char ***, int, int *)(NULL, NULL, m->serialized, &provided);
}
bool mpi_takes_turns(const mpi_library *m) {
    int level = 0;
    return AS(MPI_CALL_LEVEL, int *)(&level) == 0 && level >= m->serialized;
}
int mpi_finalize(const mpi_library *m) { return AS(MPI_CALL_FINALIZE, void)(); }

int mpi_rank(const mpi_library *m, mpi_handle comm, int *rank) {
    return m->ints ? AS(MPI_CALL_RANK, int, int *)(comm.number, rank)
                   : AS(MPI_CALL_RANK, void *, int *)(comm.address, rank);
}
int mpi_size(const mpi_library *m, mpi_handle comm, int *size) {
    return m->ints ? AS(MPI_CALL_SIZE, int, int *)(comm.number, size)
                   : AS(MPI_CALL_SIZE, void *, int *)(comm.address, size);
}
int mpi_dup(const mpi_library *m, mpi_handle comm, mpi_handle *out) {
    return m->ints ? AS(MPI_CALL_DUP, int, int *)(comm.number, &out->number)
                   : AS(MPI_CALL_DUP, void *, void **)(comm.address, &out->address);
}
int mpi_free(const mpi_library *m, mpi_handle *comm) {
    return m->ints ? AS(MPI_CALL_FREE, int *)(&comm->number) : AS(MPI_CALL_FREE, void **)(&comm->address);
}
int mpi_return_errors(const mpi_library *m, mpi_handle comm) {
    return m->ints ? AS(MPI_CALL_HANDLER, int, int)(comm.number, m->errors_return.number)
                   : AS(MPI_CALL_HANDLER, void *, void *)(comm.address, m->errors_return.address);
}
int mpi_isend(const mpi_library *m, const void *data, int n, int to, int tag, mpi_handle comm, mpi_handle *request) {
    return m->ints ? AS(MPI_CALL_ISEND, const void *, int, int, int, int, int, int *)(data, n, m->byte.number, to, tag,
                                                                                      comm.number, &request->number)
                   : AS(MPI_CALL_ISEND, const void *, int, void *, int, int, void *,
                        void **)(data, n, m->byte.address, to, tag, comm.address, &request->address);
}
int mpi_irecv(const mpi_library *m, void *data, int n, int from, int tag, mpi_handle comm, mpi_handle *request) {
    return m->ints ? AS(MPI_CALL_IRECV, void *, int, int, int, int, int, int *)(data, n, m->byte.number, from, tag,
                                                                                comm.number, &request->number)
                   : AS(MPI_CALL_IRECV, void *, int, void *, int, int, void *,
                        void **)(data, n, m->byte.address, from, tag, comm.address, &request->address);
}
int mpi_test(const mpi_library *m, mpi_handle *request, int *done, mpi_status *status) {
    return m->ints ? AS(MPI_CALL_TEST, int *, int *, mpi_status *)(&request->number, done, status)
                   : AS(MPI_CALL_TEST, void **, int *, mpi_status *)(&request->address, done, status);
}
int mpi_sum(const mpi_library *m, float *values, int n, mpi_handle comm, mpi_handle *request) {
    return m->ints ? AS(MPI_CALL_ALLREDUCE, const void *, void *, int, int, int, int,
                        int *)(m->in_place, values, n, m->single.number, m->plus.number, comm.number, &request->number)
                   : AS(MPI_CALL_ALLREDUCE, const void *, void *, int, void *, void *, void *, void **)(
                         m->in_place, values, n, m->single.address, m->plus.address, comm.address, &request->address);
}
int mpi_cancel(const mpi_library *m, mpi_handle *request) {
    return m->ints ? AS(MPI_CALL_CANCEL, int *)(&request->number) : AS(MPI_CALL_CANCEL, void **)(&request->address);
}
int mpi_count(const mpi_library *m, const mpi_status *status, int *bytes) {
    return m->ints ? AS(MPI_CALL_COUNT_OF, const mpi_status *, int, int *)(status, m->byte.number, bytes)
                   : AS(MPI_CALL_COUNT_OF, const mpi_status *, void *, int *)(status, m->byte.address, bytes);
}
int mpi_error_class(const mpi_library *m, int code) {
    int class = code;
    return AS(MPI_CALL_CLASS, int, int *)(code, &class) ? code : class;
}
void mpi_error_text(const mpi_library *m, int code, char *text, size_t size) {
    char whole[TEXT_MAX] = "";
    int n = 0;
    wick_str s = wick_str_on(text, size);
    if (AS(MPI_CALL_TEXT, int, char *, int *)(code, whole, &n)) whole[0] = 0;
    whole[strcspn(whole, "\n")] = 0; /* MPICH goes on with its stack */
    wick_str_add(&s, "%s", *whole ? whole : "an error without a text");
}

/* ---- finding one ------------------------------------------------------------------------------------------------- */

static bool find_functions(mpi_library *m, void *handle, const char **lacking) {
    for (int i = 0; i < MPI_CALLS; i++)
        if (!(m->functions[i] = dlsym(handle, names[i]))) {
            *lacking = names[i];
            return false;
        }
    return true;
}

static bool has_standard_abi(void *handle) {
    int major = 0, minor = 0;
    void *at = dlsym(handle, "MPI_Abi_get_version");
    return at && (*(int (**)(int *, int *)) & at)(&major, &minor) == 0 && major >= 1;
}

/* How handles look, by what the library says that it is. */
static bool find_handles(mpi_library *m, void *handle) {
    char version[TEXT_MAX] = "";
    int n = 0;
    void *const world = dlsym(handle, "ompi_mpi_comm_world"), *const byte = dlsym(handle, "ompi_mpi_byte"),
                *const errors = dlsym(handle, "ompi_mpi_errors_return"),
                *const single = dlsym(handle, "ompi_mpi_float"), *const plus = dlsym(handle, "ompi_mpi_op_sum");
    if (has_standard_abi(handle)) {
        m->name = "MPI";
        m->single.address = (void *)0x210, m->plus.address = (void *)0x21, m->in_place = (void *)1;
        m->world.address = (void *)0x101, m->byte.address = (void *)0x247, m->errors_return.address = (void *)0x142;
        m->any_tag = -2, m->serialized = 2048, m->truncated = 15, m->tag_word = 1;
        return true;
    }
    if (world && byte && errors && single && plus) {
        m->name = "Open MPI";
        m->single.address = single, m->plus.address = plus, m->in_place = (void *)1;
        m->world.address = world, m->byte.address = byte, m->errors_return.address = errors;
        m->any_tag = -1, m->serialized = 2, m->truncated = 15, m->tag_word = 1;
        return true;
    }
    if (AS(MPI_CALL_VERSION, char *, int *)(version, &n)) version[0] = 0;
    if (!strstr(version, "MPICH") && !strstr(version, "Intel(R) MPI") && !strstr(version, "MVAPICH")) return false;
    m->name = "MPICH";
    m->ints = true;
    m->single.number = 0x4c00040a, m->plus.number = 0x58000003, m->in_place = (void *)-1;
    m->world.number = 0x44000000, m->byte.number = 0x4c00010d, m->errors_return.number = 0x54000001;
    m->any_tag = -1, m->serialized = 2, m->truncated = 14, m->tag_word = 3;
    return true;
}

/* Which libraries the processes of a launcher are of, in the order in which they are tried. */
static const struct {
    const char *launcher, *files[5], *package;
} kinds[] = {{"OMPI_COMM_WORLD_RANK", {"libmpi.so.40", "libmpi.so.80"}, "Open MPI (libmpi.so.40; Debian: libopenmpi3)"},
             {"PMI_RANK", {"libmpich.so.12", "libmpi.so.12"}, "MPICH (libmpich.so.12; Debian: libmpich12)"},
             {NULL,
              {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.40", "libmpich.so.12", "libmpi.so.12"},
              "an MPI library (Debian: libopenmpi3 or libmpich12)"}};

wick_status mpi_library_open(mpi_library *m, const char *launcher, wick_msg *msg) {
    const char *named = getenv("WICK_MPI"), *file = named, *lacking = "";
    size_t kind = 0;
    *m = (mpi_library){0};
    while (kinds[kind].launcher && strcmp(kinds[kind].launcher, launcher) != 0) kind++;
    /* the host's own; its plugins need the library's names: RTLD_GLOBAL */
    void *handle = NULL, *self = named && *named ? NULL : dlopen(NULL, RTLD_NOW);
    if (self && dlsym(self, names[MPI_CALL_INIT])) handle = self, file = "this program";
    if (named && *named && !(handle = dlopen(named, RTLD_NOW | RTLD_GLOBAL)))
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "group_open: WICK_MPI=%s: %s", named, dlerror());
    for (size_t i = 0; i < WICK_COUNTOF(kinds[kind].files) && !handle && kinds[kind].files[i]; i++) {
        file = kinds[kind].files[i];
        handle = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    }
    if (!handle)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED,
                            "group_open: %s is set, so this is a rank of MPI, which needs %s, which is not on this "
                            "machine; WICK_MPI=FILE names another",
                            launcher, kinds[kind].package);
    if (!find_functions(m, handle, &lacking))
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "group_open: %s lacks %s: it is no MPI library", file, lacking);
    if (!find_handles(m, handle))
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED,
                            "group_open: %s is neither Open MPI, nor MPICH or of its ABI, nor of MPI 5's", file);
    return WICK_OK;
}
