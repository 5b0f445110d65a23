/* safetensors.c - files of tensors: read back, written the same, never trusted.
 */
#include "base/safetensors.h"
#include "base/str.h"

#include "scratch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

/* A file in memory: header and n bytes of data (0, 1, 2, ...). */
static struct qn_str file_of(const char *header, size_t n)
{
    struct qn_str s = {0};
    uint64_t len = strlen(header);
    qn_str_add_bytes(&s, &len, 8);
    qn_str_add(&s, header);
    for (size_t i = 0; i < n; i++) {
        char byte = (char)i;
        qn_str_add_bytes(&s, &byte, 1);
    }
    return s;
}

static enum qn_status parse(const char *header, size_t n,
                            struct qn_st_file **out, struct qn_err *err)
{
    struct qn_str s = file_of(header, n);
    enum qn_status status = qn_st_parse("x", s.text, s.len, out, err);
    qn_str_free(&s);
    return status;
}

static void every_golden_file_is_read(void **state)
{
    (void)state;
    char **names;
    size_t n, n_read = 0;
    struct qn_err err;
    const char *folder = QN_TESTS_DIR "/golden";
    assert_int_equal(qn_dir_list(folder, &names, &n, &err), QN_OK);
    for (size_t i = 0; i < n; i++) {
        if (qn_ends_with(names[i], ".safetensors")) {
            char *path = qn_path_join(folder, names[i]);
            struct qn_st_file *f = NULL;
            if (qn_st_open(path, &f, &err) != QN_OK) {
                fail_msg("%s", err.text);
            }
            assert_true(qn_st_n_tensors(f) > 0);
            n_read++;
            qn_st_close(f);
            free(path);
        }
        free(names[i]);
    }
    free(names);
    assert_true(n_read > 40);
}

static void a_golden_file_has_its_tensors_and_metadata(void **state)
{
    (void)state;
    struct qn_st_file *f = NULL;
    struct qn_err err;
    assert_int_equal(
        qn_st_open(QN_TESTS_DIR "/golden/qrnn_window1.safetensors", &f, &err),
        QN_OK);
    const struct qn_st_tensor *history = qn_st_find(f, "history");
    const struct qn_st_tensor *x = qn_st_find(f, "x");
    assert_non_null(history);
    assert_non_null(x);
    assert_int_equal(qn_st_count(history), 0);
    assert_int_equal(x->dtype, QN_F64);
    assert_int_equal(x->n_dims, 3);
    for (size_t i = 0; i < qn_st_count(x); i++) {
        assert_true(isfinite(qn_st_value(x, i)));
    }
    assert_null(qn_st_find(f, "no such tensor"));
    assert_null(qn_st_meta(f, "no such key"));
    qn_st_close(f);
    qn_st_close(NULL);
}

static const double f64[] = {1.5, -2, 3};
static const int64_t i64[] = {-5, INT64_MAX};
static const uint64_t u64[] = {1u << 31};
static const float f32[] = {0.5f, 0.25f, -1, 8, 9, 10};
static const int32_t i32[] = {-7};
static const uint8_t u8[] = {1, 2, 255};

static const struct qn_st_tensor all[] = {
    {"z/u8", QN_U8, 1, {3}, u8},
    {"b", QN_F32, 2, {2, 3}, f32},
    {"a \"q\" \xc3\xa9", QN_F32, 2, {5, 0}, NULL},
    {"i32", QN_I32, 0, {0}, i32},
    {"f64", QN_F64, 3, {1, 3, 1}, f64},
    {"u64", QN_U64, 1, {1}, u64},
    {"i64", QN_I64, 1, {2}, i64},
};
enum { N_ALL = sizeof all / sizeof *all };

static void what_is_written_is_read(void **state)
{
    char *path = qn_path_join(*state, "all.safetensors");
    const char *const meta[] = {"format", "pt", "note", "a\n\"b\""};
    struct qn_st_file *f = NULL;
    struct qn_err err;
    assert_int_equal(qn_st_write(path, all, N_ALL, meta, 2, &err), QN_OK);
    assert_int_equal(qn_st_open(path, &f, &err), QN_OK);
    assert_int_equal(qn_st_n_tensors(f), N_ALL);
    for (size_t i = 0; i < N_ALL; i++) {
        const struct qn_st_tensor *t = qn_st_find(f, all[i].name);
        assert_non_null(t);
        assert_int_equal(t->dtype, all[i].dtype);
        assert_int_equal(t->n_dims, all[i].n_dims);
        for (int k = 0; k < t->n_dims; k++) {
            assert_int_equal(t->dim[k], all[i].dim[k]);
        }
        for (size_t k = 0; k < qn_st_count(t); k++) {
            assert_true(qn_st_value(t, k) == qn_st_value(&all[i], k));
        }
    }
    assert_string_equal(qn_st_meta(f, "format"), "pt");
    assert_string_equal(qn_st_meta(f, "note"), "a\n\"b\"");
    qn_st_close(f);
    free(path);
}

static void equal_tensors_give_equal_bytes_in_any_order(void **state)
{
    char *path = qn_path_join(*state, "order");
    struct qn_st_tensor turned[N_ALL];
    struct qn_bytes first, second;
    struct qn_err err;
    for (size_t i = 0; i < N_ALL; i++) {
        turned[i] = all[N_ALL - 1 - i];
    }
    assert_int_equal(qn_st_write(path, all, N_ALL, NULL, 0, &err), QN_OK);
    assert_int_equal(qn_file_read(path, &first, &err), QN_OK);
    assert_int_equal(qn_st_write(path, turned, N_ALL, NULL, 0, &err), QN_OK);
    assert_int_equal(qn_file_read(path, &second, &err), QN_OK);
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.data, second.data, first.len);
    qn_bytes_free(&first);
    qn_bytes_free(&second);
    free(path);
}

static void the_bytes_are_those_of_the_format(void **state)
{
    char *path = qn_path_join(*state, "bytes");
    const struct qn_st_tensor two[] = {{"u", QN_U8, 1, {3}, u8},
                                       {"f", QN_F32, 1, {1}, f32}};
    const char *header = "{\"f\":{\"dtype\":\"F32\",\"shape\":[1],\"data_"
                         "offsets\":[0,4]},\"u\":{\"dtype\":\"U8\",\"shape\":"
                         "[3],\"data_offsets\":[4,7]}}";
    struct qn_bytes bytes;
    struct qn_err err;
    assert_int_equal(qn_st_write(path, two, 2, NULL, 0, &err), QN_OK);
    assert_int_equal(qn_file_read(path, &bytes, &err), QN_OK);
    uint64_t len;
    memcpy(&len, bytes.data, 8);
    assert_int_equal(len % 8, 0);
    assert_in_range(len, strlen(header), strlen(header) + 7);
    assert_memory_equal(bytes.data + 8, header, strlen(header));
    for (size_t i = strlen(header); i < len; i++) {
        assert_int_equal(bytes.data[8 + i], ' ');
    }
    assert_int_equal(bytes.len, 8 + len + 7);
    assert_memory_equal(bytes.data + 8 + len, f32, 4);
    assert_memory_equal(bytes.data + 8 + len + 4, u8, 3);
    qn_bytes_free(&bytes);
    free(path);
}

static void no_tensors_are_a_file_too(void **state)
{
    char *path = qn_path_join(*state, "none");
    struct qn_st_file *f = NULL;
    struct qn_err err;
    assert_int_equal(qn_st_write(path, NULL, 0, NULL, 0, &err), QN_OK);
    assert_int_equal(qn_st_open(path, &f, &err), QN_OK);
    assert_int_equal(qn_st_n_tensors(f), 0);
    qn_st_close(f);
    free(path);
}

static void data_is_aligned_whatever_the_file_does(void **state)
{
    (void)state;
    struct qn_st_file *f = NULL;
    struct qn_err err;
    /* Headers of every length modulo 8, and a byte before the doubles. */
    for (int pad = 0; pad < 8; pad++) {
        struct qn_str header = {0};
        qn_str_addf(&header,
                    "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":"
                    "[0,1]},\"d\":{\"dtype\":\"F64\",\"shape\":[2],"
                    "\"data_offsets\":[1,17]}}%*s",
                    pad, "");
        assert_int_equal(parse(header.text, 17, &f, &err), QN_OK);
        const struct qn_st_tensor *d = qn_st_find(f, "d");
        assert_int_equal((uintptr_t)d->data % 8, 0);
        for (int k = 0; k < 16; k++) {
            assert_int_equal(((const char *)d->data)[k], k + 1);
        }
        assert_string_equal(qn_st_at(f, 0)->name, "a");
        qn_st_close(f);
        qn_str_free(&header);
    }
}

#define T(dtype, shape, from, to)                                              \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #from    \
    "," #to "]}"

static void damaged_headers_are_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t n; /* bytes of data */
        const char *said;
    } cases[] = {
        {"", 0, "does not begin with {"},
        {" {}", 0, "does not begin with {"},
        {"[]", 0, "does not begin with {"},
        {"{", 0, "not valid JSON"},
        {"{} x", 0, "not valid JSON"},
        {"{\"a\":1}", 0, "tensor a: is not described by an object"},
        {"{\"a\":" T("F32", "[1]", 0, 4) ",\"a\":" T("F32", "[1]", 0, 4) "}", 4,
         "not valid JSON: duplicate"},
        {"{\"a\":" T("F16", "[2]", 0, 4) "}", 4, "tensor a: dtype is F16"},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "no dtype"},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "no shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],"
         "\"b\":1}}",
         4, "more than"},
        {"{\"a\":" T("F32", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4,
         "9 dimensions"},
        {"{\"a\":" T("F32", "[-1]", 0, 4) "}", 4, "dimension 0"},
        {"{\"a\":" T("F32", "[1,1.5]", 0, 4) "}", 4, "dimension 1"},
        {"{\"a\":" T("F32", "[\"1\"]", 0, 4) "}", 4, "dimension 0"},
        {"{\"a\":" T("F32", "[4611686018427387904]", 0, 0) "}", 0, "overflows"},
        {"{\"a\":" T("F32", "[4294967296,4294967296]", 0, 0) "}", 0,
         "overflows"},
        {"{\"a\":" T("F32", "[99999999999999999999]", 0, 4) "}", 4,
         "not valid JSON"},
        {"{\"a\":" T("F32", "[2]", 0, 4) "}", 4, "its shape needs 8"},
        {"{\"a\":" T("F32", "[1]", 0, 8) "}", 8, "has 8 bytes"},
        {"{\"a\":" T("F32", "[1]", 4, 0) "}", 8, "data is at 4..0"},
        {"{\"a\":" T("F32", "[1]", 0, 4) "}", 3, "file has 3 bytes"},
        {"{\"a\":" T("F32", "[1]", -4, 0) "}", 4, "two whole numbers"},
        {"{\"a\":" T("F32", "[1]", 0, 4) "}", 5, "1 bytes of data belong to"},
        {"{\"a\":" T("F32", "[1]", 4, 8) "}", 8, "begins at 4"},
        {"{\"a\":" T("F32", "[1]", 0, 4) ",\"b\":" T("F32", "[1]", 0, 4) "}", 4,
         "ends at 4"},
        {"{\"a\":" T("F32", "[2]", 0, 8) ",\"b\":" T("F32", "[1]", 4, 8) "}", 8,
         "tensor b: data begins at 4"},
        {"{\"a\":" T("F32", "[1]", 0, 4) ",\"b\":" T("F32", "[1]", 8, 12) "}",
         12, "tensor b: data begins at 8"},
        {"{\"__metadata__\":[]}", 0, "not an object"},
        {"{\"__metadata__\":{\"k\":1}}", 0, "value of k is not a string"},
        {"{\"\xff\":1}", 0, "not valid JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qn_st_file *f = NULL;
        struct qn_err err;
        enum qn_status status = parse(cases[i].header, cases[i].n, &f, &err);
        if (status != QN_EFORMAT || strstr(err.text, cases[i].said) == NULL) {
            fail_msg("%s: status %d, said %s", cases[i].header, (int)status,
                     status == QN_OK ? "" : err.text);
        }
        assert_true(qn_starts_with(err.text, "x: "));
        assert_null(f);
    }
}

static void a_long_name_does_not_hide_the_reason(void **state)
{
    (void)state;
    struct qn_st_file *f = NULL;
    struct qn_err err;
    struct qn_str header = {0};
    qn_str_addf(&header, "{\"%03000d\":1}", 0);
    assert_int_equal(parse(header.text, 0, &f, &err), QN_EFORMAT);
    assert_true(qn_ends_with(err.text, "is not described by an object"));
    qn_str_free(&header);
}

static void lengths_that_lie_are_refused(void **state)
{
    (void)state;
    struct qn_st_file *f = NULL;
    struct qn_err err;
    static const uint64_t lies[] = {
        0, 3, 1u << 20, 100000001, UINT64_MAX, UINT64_MAX - 7, INT64_MAX};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        char bytes[16] = "________{}      ";
        memcpy(bytes, &lies[i], 8);
        size_t len = lies[i] == 3 ? 10 : sizeof bytes;
        assert_int_equal(qn_st_parse("x", bytes, len, &f, &err), QN_EFORMAT);
    }
    for (uint64_t lie = 9; lie <= 16; lie++) {
        char bytes[16] = "________{}      ";
        memcpy(bytes, &lie, 8);
        assert_int_equal(qn_st_parse("x", bytes, 16, &f, &err), QN_EFORMAT);
        assert_non_null(strstr(err.text, "cut short"));
    }
    for (size_t len = 0; len < 8; len++) {
        assert_int_equal(qn_st_parse("x", "\2\0\0\0\0\0\0\0", len, &f, &err),
                         QN_EFORMAT);
    }
    assert_null(f);
}

static void every_truncation_of_a_file_is_refused(void **state)
{
    (void)state;
    struct qn_str s = file_of("{\"a\":" T("F32", "[1]", 0, 4) "}", 4);
    struct qn_st_file *f = NULL;
    struct qn_err err;
    for (size_t len = 0; len < s.len; len++) {
        assert_int_equal(qn_st_parse("x", s.text, len, &f, &err), QN_EFORMAT);
    }
    assert_int_equal(qn_st_parse("x", s.text, s.len, &f, &err), QN_OK);
    qn_st_close(f);
    qn_str_free(&s);
}

static void missing_files_are_named(void **state)
{
    (void)state;
    struct qn_st_file *f = NULL;
    struct qn_err err;
    assert_int_equal(qn_st_open("/no/such.safetensors", &f, &err),
                     QN_ENOTFOUND);
    assert_true(qn_starts_with(err.text, "/no/such.safetensors: "));
    assert_int_equal(qn_st_write("/no/such", NULL, 0, NULL, 0, &err),
                     QN_ENOTFOUND);
}

#define IN_SCRATCH(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_golden_file_is_read),
        cmocka_unit_test(a_golden_file_has_its_tensors_and_metadata),
        IN_SCRATCH(what_is_written_is_read),
        IN_SCRATCH(equal_tensors_give_equal_bytes_in_any_order),
        IN_SCRATCH(the_bytes_are_those_of_the_format),
        IN_SCRATCH(no_tensors_are_a_file_too),
        cmocka_unit_test(data_is_aligned_whatever_the_file_does),
        cmocka_unit_test(damaged_headers_are_refused_with_a_reason),
        cmocka_unit_test(a_long_name_does_not_hide_the_reason),
        cmocka_unit_test(lengths_that_lie_are_refused),
        cmocka_unit_test(every_truncation_of_a_file_is_refused),
        cmocka_unit_test(missing_files_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
